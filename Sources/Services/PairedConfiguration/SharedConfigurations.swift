// The one instance of each configuration type, made when it is first asked for. Each type has its own: a store in the
// base class would hand the first type's instance to all others.

internal import Synchronization

extension Configuration {
    private static let instances = Mutex<[ObjectIdentifier: Configuration]>([:])

    /// The instance of this type that the whole process shares; made with `init()` when it is first asked for. If two
    /// threads ask for it first at the same time, each may make one; both get the same instance. CRUConfig's
    /// `sharedConfig`.
    public static var shared: Self {
        let key = ObjectIdentifier(self)
        if let known = instances.withLock({ $0[key] }) as? Self { return known }
        // Made without the lock, since an initialiser may ask for another type's. Of two made at once one is dropped.
        let made = self.init()
        return instances.withLock { instances in
            if let known = instances[key] as? Self { return known }
            instances[key] = made
            return made
        }
    }
}

// Files of a Settings.bundle: its pages, XML or binary, and its translations, under the rules of configuration files.
// No link is followed, and whatever cannot be read is reported and leaves out nothing but itself.

import TandemBase
import TandemFiles
import TandemPages
import TandemPropertyList
import TandemPropertyListXML
import TandemReactor
import TandemSettings

/// The files of one bundle, and of the one beside it that hides its files.
struct SettingsBundleFiles {
    /// Directories that are there, the first of which counts.
    private let bundles: [OwnedDirectory]
    /// Why the bundle cannot be read.
    private let fault: FileError?
    private let device = DeviceKind(configured: Linux.environment("TANDEM_DEVICE_KIND"))

    /// - Parameter path: the directory of the bundle. An `InAppSettings.bundle` beside a `Settings.bundle` hides its
    ///   files.
    init(_ path: String) {
        let path = AbsolutePath.of(path)
        let trimmed = path.hasSuffix("/") && path.count > 1 ? String(path.dropLast()) : path
        let name = trimmed.lastPathPart ?? ""
        let parent = trimmed.dropLast(name.count)
        let hasNeighbour = PageFileOrder.bundles.contains(name)
        let paths = hasNeighbour ? PageFileOrder.bundles.map { "\(parent)\($0)" } : [trimmed]
        var (bundles, fault): ([OwnedDirectory], FileError?) = ([], nil)
        for path in paths {
            do throws(FileError) { bundles.append(try EnvironmentFile.opened(path)) } catch {
                // A neighbour need not be there.
                if case .missing = error, path != trimmed { continue }
                fault = fault ?? error
            }
        }
        (self.bundles, self.fault) = (bundles, bundles.isEmpty ? fault : nil)
    }

    /// The pages and what is wrong with them.
    /// - Parameter region: the language that the app was written in; nil for English.
    func read(region: String?) -> SettingsBundle {
        if let fault {
            let problem = SettingsBundleProblem.unreadablePage(PageTree.root, reason: fault.description)
            return SettingsBundle(PageTree { _ throws(SettingsBundleProblem) in throw problem })
        }
        var problems: [SettingsBundleProblem] = []
        let strings = strings(region, &problems)
        var tree = PageTree(device: device, strings: strings) { name throws(SettingsBundleProblem) in try page(name) }
        for (count, name) in tree.imageNames.enumerated() {
            let tooMany = SettingsBundleProblem.unreadableImage(name, reason: "there are too many")
            guard count < PageImage.countLimit else {
                problems.append(tooMany)
                break
            }
            do throws(SettingsBundleProblem) {
                if try !tree.add(image(name), named: name) { throw tooMany }
            } catch { problems.append(error) }
        }
        return SettingsBundle(tree, found: problems)
    }

    private func image(_ name: String) throws(SettingsBundleProblem) -> PageImage {
        for bundle in bundles {
            for file in PageImage.files(for: name) {
                let bytes: [UInt8]?
                do {
                    bytes = try bundle.read(
                        named: file, limit: PageImage.byteLimit, trust: .ownOrRootsAndUnwritable)
                } catch {
                    throw .unreadableImage(name, reason: "\(error)")
                }
                guard let bytes else { continue }
                guard let image = PageImage(bytes) else {
                    throw .unreadableImage(name, reason: "it is no PNG, JPEG, GIF or WebP image")
                }
                return image
            }
        }
        throw .unreadableImage(name, reason: "there is no such file")
    }

    private func page(_ name: String) throws(SettingsBundleProblem) -> PropertyListDictionary? {
        if name.utf8.contains(UInt8(ascii: "/")) {
            throw .unreadablePage(name, reason: "a page is a file of the bundle itself, in no folder and at no address")
        }
        let languages = PageFileOrder.preferredLanguages(Linux.environment)
        let localised = bundles.map { bundle in
            languages.lazy.compactMap { try? EnvironmentFile.opened("\(bundle.path)/\($0).lproj") }.first
        }
        let directories = zip(bundles, localised).map { (plain: $0, localised: $1) }
        for (directory, file) in PageFileOrder.candidates(for: name, device: device, in: directories) {
            let bytes: [UInt8]?
            do throws(FileError) {
                bytes = try directory.read(
                    named: file, limit: EnvironmentFile.limit, trust: .ownOrRootsAndUnwritable)
            } catch { throw .unreadablePage(name, reason: "\(error)") }
            guard let bytes else { continue }
            do { return try PropertyListXMLReader.readAny(bytes) } catch {
                throw .unreadablePage(name, reason: "\(directory.path)/\(file): \(error)")
            }
        }
        return nil
    }

    /// All translations; of one table in two bundles the first counts.
    private func strings(_ region: String?, _ problems: inout [SettingsBundleProblem]) -> StringsTables {
        var tables = StringsTables(region: region)
        for bundle in bundles.reversed() {
            for folder in (try? bundle.names()) ?? [] where folder.hasSuffix(".lproj") {
                guard let directory = try? EnvironmentFile.opened("\(bundle.path)/\(folder)") else { continue }
                for file in (try? directory.names()) ?? [] where file.hasSuffix(".strings") {
                    do {
                        let bytes = try directory.read(
                            named: file, limit: StringsReader.maximumLength, trust: .ownOrRootsAndUnwritable)
                        let texts = try StringsReader.read(bytes ?? [])
                        let language = String(folder.dropLast(6))
                        guard tables.add(texts, table: String(file.dropLast(8)), language: language) else {
                            problems.append(.tooManyLanguages(limit: StringsTables.languageLimit))
                            return tables
                        }
                    } catch {
                        problems.append(.unreadableStrings("\(folder)/\(file)", reason: "\(error)"))
                    }
                }
            }
        }
        return tables
    }
}

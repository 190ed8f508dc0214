// swift-tools-version: 6.2
// One table of rooms in floor order, one settings array for all of them. A room's folder is
// Sources/<Floor>/<Room>, its target Tandem<Room>; the public libraries are the four Paired... targets.
// There are no package dependencies: every C library is the system's, with one importing room each.
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func cLibrary(_ name: String, _ package: String, pkgConfig: String) -> Target {
    .systemLibrary(
        name: "C" + "Tandem" + name, path: "Sources/System/C" + name, pkgConfig: pkgConfig, providers: [.apt([package])]
    )
}

func room(
    _ floor: String, _ name: String, target: String? = nil, imports: [String] = [], links: [String] = []
) -> Target {
    let memorySafe: [SwiftSetting] = floor == "Values" || floor == "Decisions" ? [.strictMemorySafety()] : []
    return .target(
        name: target ?? "Tandem" + name, dependencies: imports.map { .byName(name: $0) },
        path: "Sources/\(floor)/\(name)", swiftSettings: strict + memorySafe,
        linkerSettings: links.map { .linkedLibrary($0) })
}

// A release starts faster and holds less: relocations packed to a tenth, nothing exported that only a dynamic standard
// library would look up. Needs the linker that comes with Swift, and Debian 12's C library. `-static-libgcc`:
// Scripts/lib/setup.sh links the C++ library in, which needs it.
let lean: [LinkerSetting] = [
    .unsafeFlags(
        [
            "-use-ld=lld", "-Xclang-linker", "-static-libgcc", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
            "-Xlinker", "--no-export-dynamic",
        ],
        .when(configuration: .release))
]

func command(_ name: String, folder: String, imports: [String], excluding: [String] = []) -> Target {
    .executableTarget(
        name: name, dependencies: imports.map { .byName(name: $0) }, path: "Sources/Commands/\(folder)",
        exclude: excluding, swiftSettings: strict, linkerSettings: lean)
}

func tests(_ name: String, imports: [String], excluding: [String] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: (imports + ["TandemTestSupport"]).map { .byName(name: $0) },
        path: "Tests/\(name)Tests", exclude: excluding, swiftSettings: strict)
}

let values = ["TandemBase", "TandemPropertyList", "TandemWire", "TandemCrypto"]
let machinery = ["TandemReactor", "TandemTransport", "TandemStore", "TandemFiles"]
let decisions = [
    "TandemSession", "TandemDelivery", "TandemPairing", "TandemSignedConfiguration", "TandemSettings",
    "TandemOperations", "TandemPages",
]

let system: [Target] = [
    cLibrary("OpenSSL", "libssl-dev", pkgConfig: "libcrypto"),
    cLibrary("TLS", "libssl-dev", pkgConfig: "libssl"),
    cLibrary("SQLite", "libsqlite3-dev", pkgConfig: "sqlite3"),
    cLibrary("PCRE2", "libpcre2-dev", pkgConfig: "libpcre2-8"),
    cLibrary("Expat", "libexpat1-dev", pkgConfig: "expat"),
    cLibrary("QREncode", "libqrencode-dev", pkgConfig: "libqrencode"),
    cLibrary("MicroHTTPD", "libmicrohttpd-dev", pkgConfig: "libmicrohttpd"),
    .target(name: "CTandemLinux", path: "Sources/System/CLinux"),
]

let valueRooms: [Target] = [
    room("Values", "Base"),
    // Rounding reals needs libm, which only an import of Glibc would link by itself.
    room("Values", "PropertyList", imports: ["TandemBase"], links: ["m"]),
    room("Values", "PropertyListXML", imports: ["CTandemExpat", "TandemBase", "TandemPropertyList"]),
    room("Values", "Wire", imports: ["TandemBase", "TandemPropertyList"]),
    room("Values", "Pattern", imports: ["CTandemPCRE2"]),
    room("Values", "QRCode", imports: ["CTandemQREncode"]),
    room("Values", "Crypto", imports: ["CTandemOpenSSL", "TandemBase"]),
    room("Values", "TLS", imports: ["CTandemTLS", "TandemBase", "TandemCrypto"]),
]

let decisionRooms: [Target] = [
    room("Decisions", "Session", imports: ["TandemBase", "TandemPropertyList", "TandemWire"]),
    room("Decisions", "Delivery", imports: ["TandemBase", "TandemPropertyList", "TandemWire"]),
    room("Decisions", "Pairing", imports: values),
    room("Decisions", "SignedConfiguration", imports: values),
    room("Decisions", "Settings", imports: ["TandemBase", "TandemPropertyList", "TandemCrypto", "TandemPattern"]),
    room(
        "Decisions", "Pages",
        imports: ["TandemBase", "TandemPropertyList", "TandemWire", "TandemPattern", "TandemSettings"]),
    room("Decisions", "Operations", imports: ["TandemBase", "TandemPropertyList", "TandemWire"]),
    // Of the console's executable alone: the daemon is not to know it.
    room(
        "Decisions", "Console",
        imports: values + ["TandemQRCode", "TandemSettings", "TandemPages", "TandemOperations"]),
]

let machineryRooms: [Target] = [
    room("Machinery", "Reactor", imports: ["CTandemLinux", "TandemBase"]),
    room("Machinery", "Transport", imports: ["TandemReactor", "TandemBase", "TandemWire"]),
    room("Machinery", "Files", imports: ["TandemReactor", "TandemBase"]),
    room("Machinery", "Store", imports: ["CTandemSQLite", "TandemReactor", "TandemFiles", "TandemBase"]),
]

let serviceRooms: [Target] = [
    // One module, so that a rule is whole in one file and its state is private. The arrows between its folders are
    // declared in Scripts/lib/folders.py and proved from the names that each folder uses.
    room("Services", "Daemon", imports: values + ["TandemTLS"] + decisions + machinery),
    room(
        "Services", "Control",
        imports: [
            "TandemBase", "TandemPropertyList", "TandemWire", "TandemOperations", "TandemReactor", "TandemTransport",
        ]),
    room(
        "Services", "PairedSession", target: "PairedSession",
        imports: [
            "TandemBase", "TandemPropertyList", "TandemWire", "TandemSession", "TandemReactor", "TandemTransport",
            "TandemFiles",
        ]),
    room(
        "Services", "PairedConfiguration", target: "PairedConfiguration",
        imports: values + [
            "PairedSession", "TandemPropertyListXML", "TandemSettings", "TandemPages", "TandemSession",
            "TandemSignedConfiguration", "TandemReactor", "TandemFiles",
        ]),
    room(
        "Services", "PairedConfigurationSQLite", target: "PairedConfigurationSQLite",
        imports: ["PairedConfiguration", "TandemReactor", "TandemStore", "TandemFiles"]),
    room(
        "Services", "PairedSessionFoundation", target: "PairedSessionFoundation",
        imports: [
            "PairedSession", "PairedConfiguration", "TandemBase", "TandemFiles", "TandemPropertyList", "TandemReactor",
            "TandemSession", "TandemWire",
        ]),
]

let commands: [Target] = [
    // The loader searches the libraries in their order, which is the reverse of the rooms' order here. So OpenSSL and
    // SQLite, which look for the most symbols, are searched first.
    command(
        "tandem", folder: "tandem",
        imports: ["TandemPropertyListXML", "TandemQRCode", "TandemControl", "PairedSession", "TandemDaemon"] + decisions
            + machinery + values),
    command(
        "tandem-console", folder: "tandem-console",
        imports: [
            "CTandemMicroHTTPD", "TandemConsole", "TandemControl", "TandemOperations", "TandemReactor",
            "TandemTransport", "TandemFiles", "PairedSession",
        ] + values),
    command(
        "SampleApp", folder: "SampleApp",
        imports: ["PairedSession", "PairedConfiguration", "TandemBase", "TandemPropertyList"],
        excluding: ["Settings.bundle"]),
]

// Measures in process what needs no daemon; Scripts/bench runs it.
let benchmarks: [Target] = [
    .executableTarget(
        name: "tandem-bench",
        dependencies: (values + [
            "PairedConfiguration", "TandemSettings", "TandemSignedConfiguration", "TandemReactor", "TandemFiles",
        ]).map { .byName(name: $0) },
        path: "Tests/Benchmarks/Driver", swiftSettings: strict, linkerSettings: lean)
]

// A host app with every type of entry; Scripts/browser walks its pages.
let gallery: [Target] = [
    .executableTarget(
        name: "tandem-gallery", dependencies: [.byName(name: "PairedSession"), .byName(name: "PairedConfiguration")],
        path: "Tests/Gallery", exclude: ["Settings.bundle", "walk.txt"], swiftSettings: strict, linkerSettings: lean)
]

let daemon = ["TandemDaemon", "TandemDaemonTestSupport", "TandemTLS"] + values + decisions + machinery

let testTargets: [Target] = [
    .target(name: "CTandemTestSupport", path: "Tests/CTestSupport"),
    .target(
        name: "TandemTestSupport",
        dependencies: [
            "CTandemTestSupport", "TandemBase", "TandemPropertyList", "TandemWire", "TandemCrypto", "TandemReactor",
            "TandemTransport",
        ].map { .byName(name: $0) },
        path: "Tests/TestSupport", swiftSettings: strict),
    // The cases of the conformance suite and their worlds; system tests run those that need real time.
    .target(
        name: "TandemConformance",
        dependencies: (values + machinery + [
            "TandemSession", "TandemOperations", "TandemDaemon", "PairedSession", "TandemTestSupport",
            "CTandemTestSupport",
        ]).map { .byName(name: $0) },
        path: "Tests/Conformance", swiftSettings: strict),
    tests("Base", imports: ["TandemBase"]),
    tests("PropertyList", imports: ["TandemBase", "TandemPropertyList"]),
    tests("PropertyListXML", imports: ["TandemBase", "TandemPropertyList", "TandemPropertyListXML"]),
    tests("Wire", imports: ["TandemBase", "TandemPropertyList", "TandemWire"]),
    tests("Pattern", imports: ["TandemPattern"]),
    tests("QRCode", imports: ["TandemQRCode"]),
    tests("Crypto", imports: ["TandemBase", "TandemCrypto"]),
    tests("TLS", imports: ["TandemBase", "TandemCrypto", "TandemTLS", "CTandemTLS"]),
    tests("Session", imports: ["TandemSession"] + values),
    tests("Delivery", imports: ["TandemDelivery"] + values),
    tests("Pairing", imports: ["TandemPairing"] + values),
    tests("SignedConfiguration", imports: ["TandemSignedConfiguration"] + values),
    tests("Operations", imports: ["TandemOperations", "TandemBase", "TandemPropertyList", "TandemWire"]),
    tests(
        "Console",
        imports: ["TandemConsole", "TandemQRCode", "TandemPages", "TandemSettings", "TandemOperations"] + values),
    tests("Settings", imports: ["TandemSettings", "TandemPattern"] + values),
    tests("Pages", imports: ["TandemPages", "TandemSettings"] + values),
    tests("Reactor", imports: ["TandemReactor"] + values),
    tests("Transport", imports: ["TandemTransport", "TandemReactor"] + values),
    tests("Store", imports: machinery + values + ["CTandemSQLite"]),
    .target(
        name: "TandemDaemonTestSupport",
        dependencies: (["TandemDaemon", "TandemTestSupport", "TandemTLS"] + values + decisions + machinery)
            .map { .byName(name: $0) },
        path: "Tests/DaemonTestSupport", swiftSettings: strict),
    // Three modules: the compiler's work for the macros of one module grows with the square of their number.
    tests("Daemon", imports: daemon), tests("DaemonConfiguration", imports: daemon),
    tests("DaemonDelivery", imports: daemon),
    tests(
        "PairedSession",
        imports: ["PairedSession", "PairedSessionFoundation", "PairedConfiguration", "TandemDaemon"] + values
            + decisions + machinery),
    tests(
        "PairedConfiguration",
        imports: [
            "PairedConfiguration", "PairedConfigurationSQLite", "TandemSettings", "TandemPages",
            "TandemSignedConfiguration", "TandemFiles",
            "TandemReactor",
        ] + values),
    tests(
        "Command",
        imports: [
            "tandem", "TandemControl", "TandemDaemon", "TandemOperations", "TandemPropertyListXML", "TandemSettings",
            "TandemPages", "TandemSignedConfiguration",
        ] + values),
    tests(
        "Conformance",
        imports: ["TandemConformance", "TandemSession", "PairedSession", "PairedSessionFoundation"] + values + machinery
    ),
    // The executables are built with the tests, which start them.
    tests(
        "System",
        imports: [
            "tandem", "tandem-console", "SampleApp", "PairedSession", "PairedSessionFoundation", "TandemDaemon",
            "TandemDelivery", "TandemFiles", "TandemReactor", "TandemStore", "TandemConformance",
        ] + values,
        excluding: ["python_client", "Support/typist.py"]),
]

// Thread Sanitizer's short form builds only the tests of these rooms, without the files named after the dash:
// TANDEM_TEST_ROOMS="Store PairedSession-LogTests.swift,TopicTests.swift".
let chosen = Context.environment["TANDEM_TEST_ROOMS"].map { rooms in
    let parts = rooms.split(separator: " ").map { $0.split(separator: "-").map(String.init) }
    return Dictionary(uniqueKeysWithValues: parts.map { ($0[0] + "Tests", $0.dropFirst().first ?? "") })
}
let chosenTests: [Target] = testTargets.filter { target in
    guard target.type == .test, let chosen else { return true }
    guard let excluded = chosen[target.name] else { return false }
    target.exclude += excluded.split(separator: ",").map(String.init)
    return true
}
let targets: [Target] = [
    system, valueRooms, decisionRooms, machineryRooms, serviceRooms, commands, benchmarks, gallery, chosenTests,
].flatMap { $0 }

let package = Package(
    name: "tandem",
    products: [
        .executable(name: "tandem", targets: ["tandem"]),
        .executable(name: "tandem-console", targets: ["tandem-console"]),
        .library(name: "PairedSession", targets: ["PairedSession"]),
        .library(name: "PairedConfiguration", targets: ["PairedConfiguration"]),
        .library(name: "PairedConfigurationSQLite", targets: ["PairedConfigurationSQLite"]),
        .library(name: "PairedSessionFoundation", targets: ["PairedSessionFoundation"]),
    ],
    targets: targets
)

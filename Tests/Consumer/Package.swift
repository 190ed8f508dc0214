// swift-tools-version: 6.2
// A client of the public libraries, as a host app's developer would write one: it depends on the package and sees its
// public symbols only. That it compiles is the test; MemberImportVisibility makes sure that one import is enough.
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "consumer",
    dependencies: [.package(name: "tandem", path: "../..")],
    targets: [
        .executableTarget(
            name: "PlainApp",
            dependencies: [
                .product(name: "PairedSession", package: "tandem"),
                .product(name: "PairedConfiguration", package: "tandem"),
            ], swiftSettings: strict),
        .executableTarget(
            name: "Kiosk",
            dependencies: [
                .product(name: "PairedSession", package: "tandem"),
                .product(name: "PairedConfiguration", package: "tandem"),
            ], swiftSettings: strict),
        .executableTarget(
            name: "PortedApp",
            dependencies: [
                .product(name: "PairedSessionFoundation", package: "tandem"),
                .product(name: "PairedConfiguration", package: "tandem"),
            ], swiftSettings: strict),
    ]
)

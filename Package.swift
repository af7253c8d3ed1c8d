// swift-tools-version: 6.2
import PackageDescription

// The house: every target is a room, and a room may import only the rooms named here (docs/architecture.md).

/// Whether libcurl, nghttp2, OpenSSL, libpsl, libyaml and SQLite are linked into the program, for packages that are to run where
/// they are not. tools/static_libraries.sh lays out the archives and headers.
let isStatic = Context.environment["TRANSFER_RUN_STATIC"].map { !$0.isEmpty } ?? false

/// Where a static build finds its archives, and the headers of libcurl, OpenSSL and libpsl.
let archives = "\(Context.packageDirectory)/.build/static"
let archiveHeaders = "-I\(archives)/include"

/// What every Swift room is built with: a warning is an error, imports are explicit, existentials are visible.
let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
    // What a room's small functions do is seen by those that call them.
    .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
    // The linker sees each function by itself, and keeps of those that are alike one (below).
    .unsafeFlags(["-Xfrontend", "-function-sections"], .when(configuration: .release)),
    .unsafeFlags(isStatic ? ["-Xcc", archiveHeaders] : []),
]

/// How the release build is linked; what start-up and memory gain by it stands in docs/performance.md.
let linking: [LinkerSetting] = [
    .unsafeFlags(
        // What nobody calls is left out, since nothing is there for plugins, and what is alike is there once.
        // Addresses that are put right at the start take little room, and nobody can change them afterwards; packed they
        // need glibc 2.36, and a static build must start with 2.34.
        ["-use-ld=lld"]
            + [
                "--no-export-dynamic", "--icf=safe", "-O2", "-z",
                isStatic ? "nopack-relative-relocs" : "pack-relative-relocs", "-z", "now",
            ]
            .flatMap { ["-Xlinker", $0] },
        .when(configuration: .release))
]

/// For the rooms that touch raw pointers: each unsafe expression says so.
let pointers: [SwiftSetting] = house + [.strictMemorySafety()]

/// Its module map says what to link. What pkg-config says would come first, with the system's folders: not in a static build,
/// where an archive is to be found before the shared library of its name.
func cLibrary(_ name: String, pkgConfig: String, apt: String) -> Target {
    .systemLibrary(name: name, path: "Sources/\(name)", pkgConfig: isStatic ? nil : pkgConfig, providers: [.apt([apt])])
}

/// One that is fetched when something of it is first called.
func lateLibrary(_ name: String) -> Target {
    .target(
        name: name, dependencies: ["CLateBinding"], path: "Sources/\(name)",
        cSettings: staticRoom)
}

/// For the C rooms that have other code in a static build.
let staticRoom: [CSetting] = isStatic ? [.define("TRANSFER_RUN_IS_STATIC"), .unsafeFlags([archiveHeaders])] : []

func room(_ name: String, _ dependencies: [String], pointers touchesPointers: Bool = false) -> Target {
    .target(
        name: name,
        dependencies: dependencies.map { .byName(name: $0) },
        path: "Sources/\(name)",
        swiftSettings: touchesPointers ? pointers : house)
}

/// `data` names folders of files that tests read, such as recorded output.
func tests(
    _ name: String, _ dependencies: [String], data: [String] = [], linking: [LinkerSetting] = []
) -> Target {
    .testTarget(
        name: name,
        dependencies: dependencies.map { .byName(name: $0) },
        path: "Tests/\(name)",
        exclude: data,
        // Nobody looks for the lines of a test by an address, and its build takes a quarter longer with them.
        swiftSettings: house + [.unsafeFlags(["-gnone"], .when(configuration: .debug))],
        linkerSettings: linking)
}

/// The program that libFuzzer drives, which has no `main` of its own: `make fuzz` alone builds it.
let fuzzer: [Target] =
    Context.environment["TRANSFER_RUN_FUZZ"] == nil
    ? []
    : [
        .executableTarget(
            name: "parser-fuzz", dependencies: ["ParserFuzzing"], path: "Sources/parser-fuzz",
            swiftSettings: house + [.unsafeFlags(["-parse-as-library"])])
    ]

let package = Package(
    name: "transfer-run",
    products: [.executable(name: "transfer-run", targets: ["transfer-run"])],
    targets: [
        cLibrary("CLibYAML", pkgConfig: "yaml-0.1", apt: "libyaml-dev"),
        cLibrary("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
        cLibrary("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
        // Nothing but a header of it is used.
        .target(name: "CXXHash", path: "Sources/CXXHash"),
        .target(name: "CLateBinding", path: "Sources/CLateBinding"),
        lateLibrary("CLibSSL"),
        lateLibrary("CLibIDN2"),
        lateLibrary("CLibPSL"),
        lateLibrary("CPCRE2"),
        lateLibrary("CBrotli"),
        lateLibrary("CZstd"),
        lateLibrary("CLZMA"),
        .target(
            name: "CLibcurl", dependencies: ["CLateBinding"], path: "Sources/CLibcurl", cSettings: staticRoom,
            linkerSettings: isStatic
                ? [
                    .unsafeFlags(
                        ["-L\(archives)/lib"]
                            + ["curl", "nghttp2", "ssl", "crypto", "psl"].flatMap { ["-Xlinker", "-l:lib\($0).a"] })
                ] : []),
        .target(
            name: "CLinuxShims", path: "Sources/CLinuxShims",
            cSettings: isStatic ? [.define("TRANSFER_RUN_IS_STATIC")] : []),
        .target(name: "CSystemBus", path: "Sources/CSystemBus"),
        .target(name: "CReportPage", path: "Sources/CReportPage", exclude: ["page"]),

        // Lowest first: a room imports only rooms above it.
        room("TransferModel", ["CLibIDN2"]),
        room("TextFormats", ["CPCRE2", "TransferModel"]),
        room("Records", ["TransferModel"]),
        room("Digests", ["CLibSSL", "CXXHash", "TransferModel"], pointers: true),
        room("Codecs", ["CZlib", "CBrotli", "CZstd", "CLZMA", "TransferModel"], pointers: true),
        room("Diagnostics", ["TextFormats", "TransferModel"]),
        room("SystemIO", ["CLinuxShims", "TransferModel"], pointers: true),
        room("YAMLTree", ["CLibYAML", "Diagnostics"], pointers: true),
        room("HTTPRules", ["CLibPSL", "TextFormats", "Digests", "TransferModel"]),
        room("RowFormats", ["Codecs", "TextFormats", "TransferModel"]),
        room(
            "JobLoader",
            ["YAMLTree", "Diagnostics", "HTTPRules", "Records", "RowFormats", "TextFormats", "TransferModel"]),
        room("AttemptLife", ["HTTPRules", "TransferModel"]),
        room("Scheduling", ["TransferModel"]),
        room("Simulation", ["Scheduling", "TransferModel"]),
        room("Stores", ["CSQLite", "Digests", "Records", "SystemIO", "HTTPRules", "TransferModel"], pointers: true),
        room("CurlCore", ["CLibcurl", "CLibSSL", "SystemIO", "TransferModel"], pointers: true),
        room("FileDelivery", ["Digests", "Codecs", "SystemIO", "TransferModel"]),
        room("NetworkConditions", ["CSystemBus", "SystemIO", "TransferModel"], pointers: true),
        room(
            "TransferEngine",
            [
                "CurlCore", "FileDelivery", "Codecs", "Digests", "AttemptLife", "HTTPRules", "TextFormats", "Stores",
                "SystemIO", "TransferModel",
            ]),
        room(
            "JobRunner",
            [
                "TransferEngine", "NetworkConditions", "Scheduling", "HTTPRules", "RowFormats", "Stores", "SystemIO",
                "TextFormats", "TransferModel",
            ]),
        room("Reporting", ["TextFormats", "TransferModel", "SystemIO"]),
        room(
            "Exports",
            ["CReportPage", "Codecs", "Digests", "HTTPRules", "Reporting", "TextFormats", "SystemIO", "TransferModel"]),
        room("LockFiles", ["YAMLTree", "Diagnostics", "TextFormats", "TransferModel"]),
        room("Planning", ["Reporting", "HTTPRules", "TextFormats", "TransferModel"]),
        room("RunControl", ["JobRunner", "HTTPRules", "TextFormats", "Stores", "SystemIO", "TransferModel"]),
        room(
            "SimulatedJobs",
            [
                "Simulation", "Scheduling", "JobRunner", "JobLoader", "YAMLTree", "Diagnostics", "Exports", "Reporting",
                "TransferModel",
            ]),
        room(
            "BackgroundService",
            [
                "RunControl", "Exports", "Reporting", "JobRunner", "JobLoader", "LockFiles", "Diagnostics",
                "Scheduling", "CurlCore", "Records",
                "TextFormats", "Stores", "SystemIO", "TransferModel",
            ]),
        room("FileVerification", ["Digests", "SystemIO", "TextFormats", "TransferModel"]),
        room("JobImport", ["TransferModel"]),
        room("ServiceUnits", []),
        room(
            "CommandLineTool",
            [
                "BackgroundService", "JobRunner", "Exports", "FileVerification", "JobImport", "ServiceUnits",
                "LockFiles", "Planning",
                "SimulatedJobs", "Reporting", "RunControl", "JobLoader",
                "NetworkConditions",
                "YAMLTree", "HTTPRules",
                "Diagnostics", "Digests",
                "FileDelivery", "TextFormats", "Stores", "CurlCore", "SystemIO", "TransferModel",
            ]),
        .executableTarget(
            name: "transfer-run", dependencies: ["CommandLineTool"], path: "Sources/transfer-run",
            swiftSettings: house, linkerSettings: linking),

        // Not shipped.
        cLibrary("CBrotliEncoder", pkgConfig: "libbrotlienc", apt: "libbrotli-dev"),
        .target(name: "CAllocationCounter", path: "Sources/CAllocationCounter"),
        .executableTarget(
            name: "transfer-run-bench",
            dependencies: [
                "CAllocationCounter", "CurlCore", "Diagnostics", "Digests", "FileDelivery", "HTTPRules", "JobLoader",
                "JobRunner",
                "Records", "Reporting", "RunControl", "Scheduling", "Simulation", "Stores", "SystemIO",
                "TransferModel",
            ],
            path: "Sources/transfer-run-bench", swiftSettings: house, linkerSettings: linking),
        .target(name: "CTestShims", path: "Sources/CTestShims"),
        .target(
            name: "TestSupport",
            dependencies: [
                "CTestShims", "CLibSSL", "CZlib", "CBrotliEncoder", "CZstd", "CLZMA", "Scheduling", "Simulation",
                "SystemIO",
                "TransferModel", "TextFormats",
            ],
            path: "Sources/TestSupport",
            swiftSettings: house,
            linkerSettings: ["ssl", "crypto", "zstd", "lzma"].map { .linkedLibrary($0) }),
        .executableTarget(
            name: "simulation-check",
            dependencies: ["Scheduling", "Simulation", "SystemIO", "TestSupport", "TransferModel"],
            path: "Sources/simulation-check", swiftSettings: house),
        .executableTarget(
            name: "response-fuzz", dependencies: ["TestSupport", "TextFormats", "TransferModel"],
            path: "Sources/response-fuzz", swiftSettings: house),
        .executableTarget(
            name: "journal-check", dependencies: ["Stores", "TestSupport", "TransferModel"],
            path: "Sources/journal-check", swiftSettings: house),
        .executableTarget(
            name: "room-check", dependencies: ["SystemIO"], path: "Sources/room-check", swiftSettings: house),
        .executableTarget(
            name: "service-check",
            dependencies: ["BackgroundService", "JobRunner", "Reporting", "Stores", "SystemIO", "TransferModel"],
            path: "Sources/service-check", swiftSettings: house),
        room(
            "ParserFuzzing",
            [
                "BackgroundService", "Codecs", "CurlCore", "Diagnostics", "HTTPRules", "JobImport", "JobLoader",
                "LockFiles", "Records", "RowFormats", "RunControl", "SimulatedJobs", "TextFormats", "TransferModel",
            ]),
        tests("ParserFuzzingTests", ["ParserFuzzing", "TestSupport"], data: ["Corpus"]),
        tests("TestSupportTests", ["TestSupport", "TransferModel", "TextFormats"], data: ["Golden"]),
        tests(
            "TransferModelTests", ["TransferModel", "TestSupport", "CLibcurl"], linking: [.linkedLibrary("curl")]),
        tests("TextFormatsTests", ["TextFormats", "TransferModel", "TestSupport"], data: ["Compliance"]),
        tests("RecordsTests", ["Records", "TransferModel", "TestSupport"], data: ["Golden"]),
        tests("RowFormatsTests", ["RowFormats", "TransferModel", "TestSupport"]),
        tests("DigestsTests", ["Digests", "TransferModel", "TestSupport"]),
        tests("CodecsTests", ["Codecs", "TransferModel", "TestSupport"]),
        tests("DiagnosticsTests", ["Diagnostics"]),
        tests("SystemIOTests", ["SystemIO", "room-check", "TransferModel", "TestSupport"]),
        tests("YAMLTreeTests", ["YAMLTree", "Diagnostics", "TestSupport"]),
        tests(
            "JobLoaderTests",
            ["JobLoader", "YAMLTree", "Diagnostics", "Records", "TextFormats", "TransferModel", "TestSupport"]),
        tests("HTTPRulesTests", ["HTTPRules", "TextFormats", "TransferModel", "TestSupport"]),
        tests("AttemptLifeTests", ["AttemptLife", "HTTPRules", "TransferModel", "TestSupport"]),
        tests(
            "TransferEngineTests",
            [
                "TransferEngine", "AttemptLife", "CurlCore", "Diagnostics", "Digests", "FileDelivery", "HTTPRules",
                "JobLoader", "Stores", "SystemIO", "TextFormats", "TransferModel", "TestSupport",
            ]),
        tests("CurlCoreTests", ["CurlCore", "TransferModel", "TestSupport"]),
        tests("SchedulingTests", ["Scheduling", "TransferModel", "TestSupport"]),
        tests("SimulationTests", ["Simulation", "Scheduling", "TransferModel", "TestSupport"]),
        tests("StoresTests", ["Stores", "Digests", "HTTPRules", "SystemIO", "TransferModel", "TestSupport"]),
        tests("NetworkConditionsTests", ["NetworkConditions", "SystemIO", "TransferModel", "TestSupport"]),
        tests("FileDeliveryTests", ["FileDelivery", "Digests", "SystemIO", "TransferModel", "TestSupport"]),
        tests(
            "ReportingTests", ["Reporting", "Records", "TextFormats", "SystemIO", "TransferModel", "TestSupport"],
            data: ["Golden"]),
        tests("LockFilesTests", ["LockFiles", "Diagnostics", "TransferModel", "TestSupport"], data: ["Golden"]),
        tests(
            "SimulatedJobsTests",
            ["SimulatedJobs", "JobLoader", "Diagnostics", "Exports", "TransferModel", "TestSupport"], data: ["Golden"]),
        tests(
            "PlanningTests", ["Planning", "HTTPRules", "TextFormats", "TransferModel", "TestSupport"]),
        tests(
            "ExportsTests",
            ["Exports", "Digests", "Reporting", "SystemIO", "TextFormats", "TransferModel", "TestSupport"],
            data: ["Golden"]),
        tests(
            "RunControlTests",
            ["RunControl", "JobRunner", "Stores", "SystemIO", "TextFormats", "TransferModel", "TestSupport"]),
        tests(
            "BackgroundServiceTests",
            [
                "BackgroundService", "service-check", "Diagnostics", "JobLoader", "JobRunner", "Stores", "SystemIO",
                "TextFormats", "TransferModel", "TestSupport",
            ]),
        tests(
            "JobRunnerTests",
            ["JobRunner", "CurlCore", "Scheduling", "Stores", "SystemIO", "TransferModel", "TestSupport"]),
        tests(
            "FileVerificationTests", ["FileVerification", "SystemIO", "TextFormats", "TransferModel", "TestSupport"]),
        tests("ServiceUnitsTests", ["ServiceUnits", "TestSupport"], data: ["Golden"]),
        tests(
            "JobImportTests",
            ["JobImport", "JobLoader", "Diagnostics", "TransferModel", "TestSupport"], data: ["Golden"]),
        tests(
            "CommandLineToolTests",
            [
                "CommandLineTool", "BackgroundService", "Diagnostics", "JobLoader", "JobRunner", "Stores",
                "TransferModel", "TestSupport",
            ],
            data: ["Golden"]),
        tests(
            "BinaryTests",
            [
                "TestSupport", "Digests", "HTTPRules", "JobLoader", "Diagnostics", "Scheduling", "Simulation", "Stores",
                "TextFormats", "TransferModel", "SystemIO",
            ], data: ["Golden"]),
    ] + fuzzer
)

import Glibc
import SystemIO
import TestSupport
import Testing

/// What a libcurl that is linked into the program calls of other libraries is looked for when it is first called: a wrong
/// name would end a run in the middle.
@Suite struct LibcurlNeedsTests {
    /// After a build with STATIC=1: its archives are the ones that are looked into.
    @Test(
        .enabled(
            if: access("/usr/bin/nm", X_OK) == 0
                && access(Binary.packageRoot + "/.build/static/lib/libcurl.a", R_OK) == 0))
    func eachFunctionIsInTheLibraryUnderWhichItStands() throws {
        let folder = try TemporaryTree("needs")
        let tool = try Binary(program: Binary.packageRoot + "/tools/curl_needs.sh")
        let made = try tool.run(arguments: [folder.path("table")])
        try #require(made.exitStatus == 0, "\(made.errorText)")
        let text = try folder.text("table")
        var libraries: [String: UnsafeMutableRawPointer?] = [:]
        var functions = 0
        for line in text.split(separator: "\n") {
            let words = line.split { "(,) \"".contains($0) }.map(String.init)
            guard words.count == 3 else { continue }
            switch words[0] {
            case "LIBRARY":
                let opened: UnsafeMutableRawPointer? = dlopen(words[1], RTLD_LAZY | RTLD_LOCAL)
                #expect(opened != nil, "\(words[1]) cannot be opened")
                libraries[words[2]] = .some(opened)
            case "LATE":
                let place = (libraries[words[2]] ?? nil).flatMap { dlsym($0, words[1]) }
                #expect(place != nil, "\(words[2]) has no \(words[1])")
                functions += 1
            default: continue
            }
        }
        #expect(libraries.count > 6 && functions > 300)
    }
}

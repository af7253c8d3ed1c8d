import JobImport
import Testing

/// What aria2 sends is carried over whole, or the transfer is left out and named.
struct AriaCommandTests {
    @Test(arguments: [
        (
            "--all-proxy=http://p.test:3128 --all-proxy-user=me --all-proxy-passwd=hunter2",
            "proxy: \"http://me:${secret.P_TEST_PROXY_PASSWORD}@p.test:3128\""
        ),
        (
            "--http-proxy=http://u:hunter2@p.test/",
            "proxy: { http: \"http://u:${secret.P_TEST_PROXY_PASSWORD}@p.test\" }"
        ),
        (
            "--https-proxy=p.test:1 --no-proxy=.x.test,10.0.0.0/8",
            "proxy: { https: \"http://p.test:1\", bypass: [x.test, \"*.x.test\", \"10.0.0.0/8\"] }"
        ),
        ("--all-proxy=", "proxy: none"),
        (
            "--certificate=c.pem --private-key=k.pem --ca-certificate=ca.pem --check-certificate=false",
            "tls: { trust: { ca: ca.pem, policy: insecure }, clientCertificates: [{ host: a.test, certificate: c.pem, key: k.pem }] }"
        ),
        ("--load-cookies=c", "cookies: { file: c, accept: never }"), ("--referer='*'", "Referer: \"https://a.test/x\""),
        ("--http-no-cache", "headers: { Cache-Control: no-cache, Pragma: no-cache }"),
        ("--http-accept-gzip", "decompress: true"), ("--disable-ipv6", "addressFamily: ipv4"),
    ])
    func option_isCarriedOver(_ option: String, _ part: String) {
        let result = JobImportTests.translated("aria2c \(option) https://a.test/x\n")
        #expect(result.text.contains(part) && result.warnings.isEmpty && !result.text.contains("hunter2"), "\(result)")
    }

    @Test(arguments: [
        "aria2c --load-cookies=a --save-cookies=b https://a.test/x", "aria2c --frobnicate=1 https://a.test/x",
        "aria2c --certificate=c.p12 https://a.test/x", "aria2c --referer='*' https://a.test/x https://b.test/x",
        "aria2c --all-proxy-user=me https://a.test/x", "aria2c --all-proxy=\"$P\" https://a.test/x",
        "aria2c --proxy-method=tunnel https://a.test/x", "aria2c --check-certificate=\"$C\" https://a.test/x",
        "aria2c --netrc-path=n https://a.test/x", "https://a.test/x\n  frobnicate=1",
        "https://a.test/x\n  http-proxy-user=u",
        "https://a.test/[1-2]\n  parameterized-uri=true",
        "aria2c --user-agent --torrent-file=t https://a.test/x https://a.test/y -Z --frob x",
    ])
    func whatChangesTheRequest_leavesTheTransferOut(_ text: String) {
        let result = JobImportTests.translated(text + "\n")
        #expect(result.taskCount == 0 && result.warnings.allSatisfy { $0.hasSuffix("was left out") }, "\(result)")
        #expect(!result.warnings.isEmpty)
    }

    @Test func proxyOfAnInputFile_hasItsUser() {
        let result = JobImportTests.translated(
            "https://a.test/x\n  all-proxy=p.test:1\n  all-proxy-user=u\n  all-proxy-passwd=hunter2\n")
        #expect(result.text.contains("proxy: \"http://u:${secret.P_TEST_PROXY_PASSWORD}@p.test:1\""), "\(result)")
    }

    /// An input file says no options of the program: aria2 takes none of them there.
    @Test func optionOfTheProgram_isNamed_inAnInputFile() {
        for option in ["load-cookies=c", "check-certificate=false", "certificate=c"] {
            let result = JobImportTests.translated("https://a.test/x\n  \(option)\n")
            #expect(result.taskCount == 1 && result.warnings.count == 1 && !result.text.contains("tls:\n"), "\(result)")
            #expect(result.warnings.first?.contains("all of aria2") == true && !result.text.contains("    tls: "))
        }
        let command = JobImportTests.translated("aria2c --on-download-complete=c https://a.test/x\n")
        #expect(command.taskCount == 1 && !command.text.contains("all of aria2"), "\(command)")
    }
}

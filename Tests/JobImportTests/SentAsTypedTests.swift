import JobImport
import Testing

/// What a command sends is what the job sends, or it is said what differs.
struct SentAsTypedTests {
    @Test(arguments: [
        // What curl encodes, a form does.
        ("curl --data-urlencode \"password=p&w+1\" https://a.test/", "body: { form: { password: \"${secret."),
        // A secret with a default is still the variable of that name.
        ("curl -H \"X-Api-Key: ${TOKEN:-x1}\" https://a.test/", "headers: { X-Api-Key: \"${secret.TOKEN}\" }"),
        (
            "curl -x http://p.test:1 -U pu:pw https://a.test/",
            "proxy: \"http://pu:${secret.P_TEST_PROXY_PASSWORD}@p.test:1\""
        ),
        ("curl -x http://p.test:1 --proxy-digest -U pu:pw https://a.test/", "proxy: true"),
        ("curl --url-query '+raw=%20' https://a.test/", "url: \"https://a.test/?raw=%20\""),
        (
            "export http_proxy=p.test:1 no_proxy=.a.test\ncurl http://b.test/",
            "proxy: { http: \"http://p.test:1\", bypass: [a.test, \"*.a.test\"] }"
        ),
        ("export ALL_PROXY=socks5h://p.test:1\ncurl http://b.test/", "proxy: { all: \"socks5h://p.test:1\" }"),
        (
            "aria2c -P 'https://a.test/{a,b}/[1-2].txt'",
            "urls: [\"https://a.test/a/1.txt\", \"https://a.test/a/2.txt\", \"https://a.test/b/1.txt\""
        ),
        ("aria2c -Z -P 'https://a.test/{a,b}'", "url: \"https://a.test/b\""),
        ("wget https://a.test/x", "`~/.netrc`"),
    ])
    func whatIsSent(_ script: String, _ part: String) {
        let result = JobImportTests.translated("#!/bin/sh\n\(script)\n")
        #expect(result.text.contains(part), "\(result.text)")
        #expect(result.warnings.isEmpty, "\(result.warnings)")
    }

    @Test(arguments: [
        ("for u in $(cat ids); do curl https://a.test/$u; done", "each word of `ids`"),
        ("xargs -n1 curl -O < ids", "each word of `ids`"),
        ("while read id; do curl https://a.test/$id; done < ids", "blanks at the ends"),
        ("wget -N https://a.test/x", "`--timestamping` asks by the file's time"),
        ("curl -z f -o f https://a.test/x", "`--time-cond` asks by the file's time"),
        ("curl -G --data-urlencode \"q=$Q\" https://a.test/", "sends a blank as `+`"),
        ("curl --data-urlencode 'password=a b' https://a.test/", "sends a blank as `+`"),
        ("curl -L -X PUT -d x https://a.test/", "no redirect of it is followed"),
        ("curl -L -X GET -d x https://a.test/", "no redirect of it is followed"),
        ("curl -L -X DELETE https://a.test/", "no redirect of it is followed"),
    ])
    func whatDiffers_isWarnedOf(_ script: String, _ part: String) {
        let result = JobImportTests.translated("#!/bin/sh\n\(script)\n")
        #expect(result.taskCount == 1 && result.warnings.contains { $0.contains(part) }, "\(result.warnings)")
    }

    @Test(arguments: [
        "http_proxy=http://p.test\nexport http_proxy", "unset https_proxy", "export https_proxy=$(cat p)",
        "export https_proxy=http://u:hunter2@p.test",
        "[ -f p ] && export http_proxy=http://p.test",
    ])
    func proxyThatNoSessionSays_leavesTransfersOut(_ script: String) {
        let result = JobImportTests.translated("curl -O https://a.test/whole\n\(script)\ncurl https://a.test/x\n")
        #expect(result.taskCount == 1 && result.warnings.contains { $0.contains("the proxy of") }, "\(result)")
        #expect(!result.text.contains("hunter2"))
    }

    @Test func secretOfALaterValue_isNotWritten() {
        let result = JobImportTests.translated(
            "API_TOKEN=one1\ncurl -d \"x=$API_TOKEN\" https://a.test/1\nAPI_TOKEN=hunter2\ncurl -d \"x=$API_TOKEN\" https://a.test/2\n"
        )
        #expect(result.taskCount == 2 && !result.text.contains("hunter2"), "\(result)")
        #expect(result.text.contains("x=${secret.API_TOKEN_2}") && !result.text.contains("one1"), "\(result)")
    }

    @Test(arguments: [
        ("https://h.test/a?token=hunter2&b=1", "https://h.test/a?token=${secret.H_TEST_TOKEN}&b=1"),
        (
            "https://h.test/bot123456789:AAhunter2hunter2/getMe",
            "https://h.test/bot${raw:secret.H_TEST_BOT_TOKEN}/getMe"
        ),
        ("https://h.test/a?b=1", "https://h.test/a?b=1"),
    ])
    func secretsOfATypedURL_areTakenOut(_ url: String, _ shown: String) {
        var secrets = URLSecrets()
        #expect(secrets.hide(url) == shown)
        #expect(secrets.text.isEmpty == (url == shown) && !secrets.text.contains("hunter2"))
        #expect(secrets.text.contains("secrets:\n  H_TEST_") == (url != shown), "\(secrets.text)")
    }
}

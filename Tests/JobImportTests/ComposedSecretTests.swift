import JobImport
import Testing

/// Credentials that a script puts together, and names that mean one.
struct ComposedSecretTests {
    @Test(arguments: [
        ("-b \"sid=$SID\"", "headers: { Cookie: \"sid=${secret.SID}\" }"),
        ("-b \"sid=$SID; lang=de\"", "headers: { Cookie: \"sid=${secret.SID}; lang=de\" }"),
        ("-H \"X-Api-Key: pre-$KEY\"", "headers: { X-Api-Key: \"pre-${secret.KEY}\" }"),
        ("-u \"me:pre$PW\"", "user: me, password: \"pre${secret.PW}\""),
        ("-u \"me:$A$B\"", "user: me, password: \"${secret.A}${secret.B}\""),
        (
            "-H \"Authorization: Token token=$TK; a=b\"",
            "headers: { Authorization: \"Token token=${secret.TK}; a=b\" }"
        ),
        ("-d \"{\\\"password\\\":\\\"a$PW\\\"}\"", "body: { data: \"{\\\"password\\\":\\\"a${secret.PW}\\\"}\" }"),
        ("-d \"user=u&password=a$PW\"", "body: { data: \"user=u&password=a${secret.PW}\" }"),
        ("-G -d \"sig=a$SIG\"", "?sig=a${raw:secret.SIG}"),
    ])
    func variableInACredential_isTheSecret(_ options: String, _ part: String) {
        let result = JobImportTests.translated("curl \(options) https://a.test/\n")
        #expect(result.text.contains(part) && result.text.contains(": { hosts: [a.test] }"), "\(result.text)")
        #expect(!result.text.contains("A_TEST_") && result.warnings.isEmpty, "\(result.text)")
        #expect(JobImportTests.problems(result.text) == [], "\(result.text)")
    }

    /// What stands between the variables may be a part of the credential: then it is not written.
    @Test(arguments: [
        "-b \"sid=$SID; session=hunter2\"", "-u \"me:hunter22$PW\"", "-H \"X-Api-Key: hunter2hunter2$KEY\"",
        "-b \"sid=$SID; auth=correcthorsebatterystaplehunter2\"", "-H \"X-Api-Key: ${P:-hunter2}$KEY\"",
    ])
    func credentialBesideAVariable_isNotWritten(_ options: String) {
        let result = JobImportTests.translated("curl \(options) https://a.test/\n")
        #expect(!result.text.contains("hunter2") && result.text.contains("secret.A_TEST_"), "\(result.text)")
        #expect(result.text.contains("must hold all that the script puts together with"), "\(result.text)")
    }

    @Test func variableOfTheScriptInACredential_isNotWritten() {
        let result = JobImportTests.translated(
            "K=hunter2\ncurl -H \"X-Api-Key: pre-$K\" https://a.test/\ncurl -d \"x=$K\" https://a.test/\n")
        #expect(!result.text.contains("hunter2") && result.text.contains("\"pre-${secret.K}\""), "\(result.text)")
        #expect(result.text.contains("x=${secret.K}"), "\(result.text)")
    }

    @Test(arguments: [
        "SMTP_PASS", "DBPASS", "MYSQL_PWD", "PASSWORD_PROD", "GH_PAT", "APP_SECRET_VALUE", "SSH_PRIVATE_KEY",
        "smtpPass",
        "MAIL_OTP", "HUB_TOKEN_CI",
    ])
    func variableOfThatName_isASecret(_ name: String) {
        let result = JobImportTests.translated("\(name)=hunter2\ncurl -d \"x=$\(name)\" https://a.test/\n")
        #expect(!result.text.contains("hunter2") && result.text.contains("x=${secret.\(name)}"), "\(result.text)")
    }

    @Test(arguments: [
        "compass", "pass_count", "passive", "pattern", "BYPASS", "PASSWORD_FILE", "TOKEN_TYPE", "token_address", "path",
        "spat", "PASSWORD_MIN_LENGTH", "keyboard", "sort_key",
    ])
    func variableOfAnotherName_isNone(_ name: String) {
        let result = JobImportTests.translated("\(name)=hunter2\ncurl -d \"x=$\(name)\" https://a.test/\n")
        #expect(result.text.contains("\(name): hunter2") && !result.text.contains("secret."), "\(result.text)")
    }

    @Test(arguments: [
        "--json '{\"private_key\":\"hunter2\"}'", "-d license_key=hunter2", "-d SharedKey=hunter2", "-F otp=hunter2",
        "-H 'X-Pass: hunter2'", "-H 'X-Chef-Key: hunter2'", "-H 'X-Upstream: Bearer hunter2'",
        "-d '{\"p\":\"{\\\"password\\\":\\\"hunter2\\\"}\"}'",
        "-d '{\"p\":\"[{\\\"a\\\":\\\"\\\\n\\\",\\\"pw\\\":\\\"hunter2\\\"}]\"}'",
    ])
    func valueOfThatName_isASecret(_ options: String) {
        let result = JobImportTests.translated("curl \(options) https://a.test/\n")
        #expect(!result.text.contains("hunter2") && result.text.contains("${secret.A_TEST_"), "\(result.text)")
        #expect(JobImportTests.problems(result.text) == [], "\(result.text)")
    }

    @Test(arguments: ["Idempotency-Key", "X-Cache-Key", "Surrogate-Key", "X-Compass", "X-Token-Type"])
    func headerOfAnotherName_isNone(_ name: String) {
        let result = JobImportTests.translated("curl -H '\(name): abc' https://a.test/\n")
        #expect(result.text.contains("\(name): abc"), "\(result.text)")
    }

    /// JSON in JSON is put together as it was.
    @Test func secretInJSONInJSON_leavesTheRest() {
        let result = JobImportTests.translated(
            "curl -d '{\"p\":\"{\\\"password\\\":\\\"hunter2\\\",\\\"b\\\":1}\"}' https://a.test/\n")
        let inner = "{\\\\\\\"password\\\\\\\":\\\\\\\"${secret.A_TEST_PASSWORD}\\\\\\\",\\\\\\\"b\\\\\\\":1}"
        #expect(result.text.contains("data: \"{\\\"p\\\":\\\"\(inner)\\\"}\""), "\(result.text)")
    }

    @Test func secretOfATransferThatIsLeftOut_isNotDeclared() {
        let result = JobImportTests.translated(
            "curl -u me:hunter2 -F 'a=@b,c' https://b.test/\ncurl -O https://a.test/x\n")
        #expect(result.taskCount == 1 && !result.text.contains("secrets:"), "\(result.text)")
    }
}

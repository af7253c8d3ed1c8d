import JobImport
import Testing

/// What a transfer that is left out uses as a secret is not written either, and each secret goes to those that get it.
struct WithheldSecretTests {
    private static let whole = "\ncurl -O https://a.test/whole\n"

    /// Nothing says the secret, and the job says that something was taken out.
    @Test(arguments: [
        "TOKEN=hunter2\nf() { curl -H \"Authorization: Bearer $TOKEN\" \"$1\"; }",
        "AUTH=hunter2\nif [ x ]; then curl -H \"Authorization: $AUTH\" https://b.test/; fi",
        "P=hunter2\ncurl -H @headers.txt -u \"me:$P\" https://b.test/",
        "P=hunter2\nssh host \"curl -u me:$P https://b.test/\"", "C=me:hunter2\nf() { curl -u \"$C\" \"$1\"; }",
        "P=hunter2\nssh host sh <<X\ncurl -u me:$P https://b.test/\nX",
        "P=hunter2\nV=$(curl -u me:$P https://b.test/ | sort)", "P=hunter2\nf() { wget --proxy-password=$P $1; }",
        "P=hunter2\nf() { aria2c --http-user=me --http-passwd=$P $1; }",
        "API_PASSWORD=hunter2\nmysql -p\"$API_PASSWORD\" $API_PASSWORD",
    ])
    func secretOfATransferThatIsLeftOut_isNotWritten(_ script: String) {
        let result = JobImportTests.translated("#!/bin/bash\n\(script)\(Self.whole)")
        #expect(result.taskCount == 1 && !result.text.contains("hunter2"), "\(result)")
        #expect(result.text.contains("# Secrets were taken out"), "\(result.text)")
    }

    /// A value that is a credential in one place is one everywhere.
    @Test(arguments: [
        "P=hunter2\nf() { curl -u \"me:$P\" https://b.test/; }\ncurl -d \"x=$P\" https://a.test/",
        "C=me:hunter2\nf() { curl -u \"$C\" https://b.test/; }\ncurl -d \"x=$C\" https://a.test/",
        "H='X-Api-Key: hunter2'\nf() { curl -H \"$H\" \"$1\"; }\ncurl -d \"x=$H\" https://a.test/",
        "T=a1\ncurl -H \"X-Api-Key: $T\" https://a.test/1\nT=hunter2\ncurl -d \"x=$T\" https://a.test/2",
        "API_TOKEN='hunter2/a b'\ncurl -d \"x=$API_TOKEN\" https://a.test/",
        "B=hunter2\nH=\"Bearer $B\"\nf() { curl -H \"Authorization: $H\" $1; }\ncurl -d \"x=$B\" https://a.test/",
    ])
    func credentialOfOneTransfer_isASecretInAll(_ script: String) {
        let result = JobImportTests.translated("#!/bin/bash\n\(script)\n")
        #expect(!result.text.contains("hunter2") && result.text.contains("x=${secret."), "\(result)")
        #expect(result.text.contains(": { hosts: [a.test] } # x:"), "\(result.text)")
    }

    @Test(arguments: [
        "T=${TOKEN:-hunter2}\ncurl -d \"x=$T\" https://a.test/", "curl -d \"x=${API_TOKEN:-hunter2}\" https://a.test/",
        "curl -O \"https://a.test/${TOKEN:-hunter2}/x\"",
    ])
    func defaultOfACredential_isNotWritten(_ script: String) {
        let result = JobImportTests.translated(script + "\n")
        #expect(result.taskCount == 1 && !result.text.contains("hunter2"), "\(result)")
        #expect(result.text.contains("secret.TOKEN}") || result.text.contains("secret.API_TOKEN}"), "\(result.text)")
    }

    @Test func headerWithoutQuotes_isSeveralWords() {
        let result = JobImportTests.translated("H='X-Api-Key: hunter2'\ncurl -H $H https://a.test/\(Self.whole)")
        #expect(result.taskCount == 1 && !result.text.contains("hunter2"), "\(result)")
    }

    @Test func variableThatNoTaskUses_isNotWritten() {
        let result = JobImportTests.translated("V=one1\nf() { curl https://b.test/$V; }\(Self.whole)")
        #expect(result.taskCount == 1 && !result.text.contains("one1"), "\(result)")
    }

    @Test func headerThatAVariableHolds_isThatHeader() {
        let result = JobImportTests.translated(
            "A='Authorization: Bearer hunter2'\nB='X-Thing: a b'\nN=X-Other\ncurl -H \"$A\" -H \"$B\" -H \"$N: c\" https://a.test/\n"
        )
        #expect(
            result.text.contains(
                "headers: { Authorization: \"Bearer ${secret.A_TEST_TOKEN}\", X-Thing: \"a b\", X-Other: c }"),
            "\(result)")
        #expect(!result.text.contains("hunter2") && result.warnings.isEmpty)
    }

    @Test(arguments: [
        "for u in 'https://b.test/a?sig=hunter2' https://b.test/b; do curl -O \"$u\"; done",
        "for c in me:hunter2 you:b; do curl -u \"$c\" https://b.test/$c; done",
        "for token in hunter2 b; do curl -d \"x=$token\" https://b.test/$token; done",
        "for b in 'password=hunter2' b; do curl -d \"$b\" https://b.test/; done",
        "while read -r u; do curl -O \"$u\"; done <<X\nhttps://b.test/a?token=hunter2\nX",
    ])
    func listWithASecretInIt_isLeftOutWhole(_ loop: String) {
        let result = JobImportTests.translated("#!/bin/bash\(Self.whole)\(loop)\n")
        #expect(result.taskCount == 1 && !result.text.contains("hunter2"), "\(result)")
        #expect(result.warnings.contains { $0.contains("was left out") }, "\(result.warnings)")
        #expect(loop.hasPrefix("while") || result.warnings.contains { $0.contains("secrets") }, "\(result.warnings)")
    }

    /// A secret that a variable holds with other text goes where that variable is sent.
    @Test(arguments: [
        ("B='user=u&password=hunter2'\ncurl -d \"$B\" https://a.test/", "A_TEST_PASSWORD: { hosts: [a.test] }"),
        ("Q='a=1&token=hunter2'\ncurl -O \"https://a.test/x?$Q\"", "A_TEST_TOKEN: { hosts: [a.test] }"),
        ("W='https://w.test/x?sig=hunter2'\ncurl -d \"c=$W\" https://a.test/", "A_TEST_SIG: { hosts: [a.test] }"),
        (
            "B='{\"token\":\"hunter2\"}'\ncurl -d \"$B\" https://a.test/\ncurl -d \"$B\" https://b.test/",
            "A_TEST_TOKEN: { hosts: [a.test, b.test] }"
        ),
        ("U='https://a.test/x?access_token=hunter2'\ncurl -O \"$U\"", "A_TEST_ACCESS_TOKEN: { hosts: [a.test] }"),
        (
            "curl -d '<r><password>hunter2</password><a token=\"hunter2\"/></r>' https://a.test/",
            "A_TEST_TOKEN: { hosts: [a.test] }"
        ),
        ("curl -O 'https://127.0.0.1/x?X-Amz-Credential=hunter2'", "  X_AMZ_CREDENTIAL: { hosts: [\"127.0.0.1\"] }"),
        (
            "P=hunter2\ncurl -u me:$P https://a.test/\ncurl -d \"x=$P\" https://b.test/",
            "P: { hosts: [a.test, b.test] }"
        ),
    ])
    func secretInAVariable_goesToTheHostThatGetsIt(_ script: String, _ secret: String) {
        let result = JobImportTests.translated("\(script)\n")
        #expect(!result.text.contains("hunter2") && result.text.contains("\(secret) # x:"), "\(result)")
    }

    /// A name means in each script what that script sets it to.
    @Test func variableOfTwoScripts_hasTheValueOfEach() {
        let scripts = ["one", "two"].map { name in
            ImportInput(
                name: name,
                text:
                    "H=\(name).test\nTOKEN=\(name)hunter2\ncurl -d \"x=$TOKEN\" \"https://$H/\(name)\"\ncurl -u \"me:$P\" https://a.test/\n"
            )
        }
        let result = JobImport.translate(scripts, origin: "x")
        #expect(
            result.text.contains("\"https://${raw:H}/one\"") || result.text.contains("\"https://${H}/one\""),
            "\(result.text)")
        #expect(result.text.contains("\"https://two.test/two\"") && !result.text.contains("hunter2"), "\(result.text)")
        #expect(
            result.text.contains("x=${secret.TOKEN}") && result.text.contains("x=${secret.TOKEN_2}"), "\(result.text)")
    }
}

import HTTPRules
import Testing
import TransferModel

struct ServerWordsTests {
    private func words(_ body: String, _ type: String = "application/json") -> String? {
        ServerWords.of(Array(body.utf8), HeaderBlock(raw: Array("Content-Type: \(type)\r\n".utf8)))
    }

    /// One message, wherever frameworks and APIs put it.
    @Test(arguments: [
        (#"{"title": "Gone", "detail": "it left", "status": 410}"#, "it left"),
        (#"{"errors": [{"status": "422", "title": "Invalid", "detail": "too short"}]}"#, "too short"),
        (
            #"{"error": {"code": 403, "message": "no quota", "errors": [{"message": "no quota", "reason": "q"}]}}"#,
            "no quota"
        ),
        (#"{"error": {"type": "card_error", "code": "c", "message": "declined", "param": "n"}}"#, "declined"),
        (#"{"error": "invalid_grant", "error_description": "it has ended"}"#, "it has ended"),
        (#"{"ok": false, "error": "not_authed"}"#, "not_authed"),
        (#"{"error": true, "reason": "no such user"}"#, "no such user"),
        (#"{"ok": false, "error_code": 400, "description": "chat not found"}"#, "chat not found"),
        (#"{"timestamp": 1, "status": 404, "error": "Not Found", "path": "/a", "message": "no b"}"#, "no b"),
        (#"{"errors": {"detail": "Not Found"}}"#, "Not Found"),
        (#"["first", "second"]"#, "first; second"), (#""a text""#, "a text"),
        (#"{"error": {"root_cause": [{"type": "t", "reason": "no index"}], "reason": "no index"}}"#, "no index"),
        (#"{"Message": "No HTTP resource was found."}"#, "No HTTP resource was found."),
        (#"{"__type": "com.amazon.coral#ValidationException", "Message": "1 error"}"#, "ValidationException: 1 error"),
        (#"{"__type": "ThrottlingException", "message": "slow down"}"#, "ThrottlingException: slow down"),
        (#"{"__type": "com.amazon.coral#InternalFailure"}"#, "InternalFailure"),
    ])
    func theMessage_isFound(_ body: String, _ words: String) { #expect(self.words(body) == words) }

    /// What is wrong with single fields, with the field's name, beside a message or without one.
    @Test(arguments: [
        (
            #"{"detail": [{"loc": ["body", "name"], "msg": "field required"}, {"loc": ["body", 0], "msg": "no number"}]}"#,
            "body.name: field required; body.0: no number"
        ),
        (#"{"errors": {"name": ["can't be blank", "is short"]}}"#, "name: can't be blank; name: is short"),
        (#"{"errors": {"title": ["can't be blank"], "base": ["full"]}}"#, "title: can't be blank; full"),
        (#"{"errors": {"email": "is invalid"}}"#, "email: is invalid"),
        (
            #"{"username": ["A user with that name exists."], "non_field_errors": ["No."], "p": {"q": ["Bad."]}}"#,
            "username: A user with that name exists. No. p.q: Bad."
        ),
        (
            #"{"message": "The email field is required. (and 1 more error)", "errors": {"email": ["The email field is "#
                + #"required."], "age": ["Too young."]}}"#,
            "The email field is required. (and 1 more error); age: Too young."
        ),
        (
            #"{"title": "One or more errors occurred.", "status": 400, "errors": {"Name": ["It is required."]}}"#,
            "One or more errors occurred. Name: It is required."
        ),
        (
            #"{"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "code": "missing"}, "#
                + #"{"field": "x", "code": "custom", "message": "x is taken"}], "documentation_url": "u"}"#,
            "Validation Failed; title: missing; x: x is taken"
        ),
        (#"{"errors": [{"field": "x", "msg": "too long"}]}"#, "x: too long"),
        (#"{"errors": [{"source": {"pointer": "/data/a"}, "detail": "short"}]}"#, "/data/a: short"),
        (#"{"message": "bad", "errors": {"a": ["bad"], "b": ["bad"]}}"#, "bad; a: bad; b: bad"),
        (#"{"message": ["a must be set", "b is long"], "error": "Bad Request"}"#, "a must be set; b is long"),
        (#"{"error": "invalid", "details": ["no name", "no age"]}"#, "invalid; no name; no age"),
    ])
    func whatIsWrongWithFields_isToldWithTheirNames(_ body: String, _ words: String) {
        #expect(self.words(body) == words)
    }

    @Test(arguments: ["application/problem+json", "application/x-amz-json-1.1", "text/json; charset=utf-8"])
    func everyTypeOfJSON_isRead(_ type: String) { #expect(words(#"{"detail": "x"}"#, type) == "x") }

    @Test(arguments: [
        "{}", "[]", "17", "null", #"{"code": 42}"#, #"{"id": "a", "tags": ["b"]}"#, #"{"error": ""}"#,
        #"{"message": "", "details": {"requestID": 7}}"#,
    ])
    func jsonWithoutAMessage_saysNothing(_ body: String) { #expect(words(body) == nil) }

    /// A body that means harm costs no more than one that does not.
    @Test func manyAndDeepMessages_areBounded() throws {
        let many =
            #"{"errors": [\#(Array(repeating: 0, count: 900).indices.map { "\"e\($0)\"" }.joined(separator: ","))]}"#
        #expect(words(many) == "e0; e1; e2; e3; e4; e5; e6; e7")
        let deep = String(repeating: #"{"error":"#, count: 40) + "\"x\"" + String(repeating: "}", count: 40)
        #expect(words(deep) == nil)
    }
}

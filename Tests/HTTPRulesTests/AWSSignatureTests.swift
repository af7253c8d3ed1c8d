import HTTPRules
import TestSupport
import Testing
import TransferModel

/// The vectors of the AWS Signature Version 4 test suite (published with the C library `aws-c-auth`), for signatures in a
/// header; without the four that sign a path's dots as they stand, for no URL here keeps any.
@Suite struct AWSSignatureTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let name: String
        let method: String
        let target: String
        var headers: [(String, String)]
        var body: String
        var normalizes: Bool
        var announces: Bool
        var token: String?
        var signsToken: Bool
        let signature: String
        var testDescription: String { name }

        init(
            _ name: String, _ method: String, _ target: String, headers: [(String, String)] = [], body: String = "",
            normalizes: Bool = true, announces: Bool = false, token: String? = nil, signsToken: Bool = true,
            signature: String
        ) {
            (self.name, self.method, self.target, self.headers) = (name, method, target, headers)
            (self.body, self.normalizes, self.announces, self.token) = (body, normalizes, announces, token)
            (self.signsToken, self.signature) = (signsToken, signature)
        }
    }

    @Test(arguments: vectors) func vector(_ vector: Vector) throws {
        var signature = AWSSignature(
            accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            sessionToken: vector.token.map { SecretText($0) }, region: "us-east-1", service: "service")
        // The suite's own client sends paths as they stand and encodes them once.
        signature.style.encodesPathTwice = false
        signature.style.normalizesPath = vector.normalizes
        signature.style.announcesPayload = vector.announces
        signature.style.signsToken = vector.signsToken
        let headers = signature.added(
            to: vector.headers.map { HeaderField(name: $0.0, value: SecretText($0.1)) }, method: vector.method,
            url: try ResourceURL.parse("https://example.amazonaws.com" + vector.target),
            payload: .sha256(AWSSignature.sha256(Array(vector.body.utf8))), at: Self.noon)
        let authorization = try #require(headers.last { $0.name == "Authorization" }).value.revealed
        #expect(authorization.hasSuffix("Signature=" + vector.signature))
        #expect(authorization.hasPrefix("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/"))
    }

    /// 2015-08-30T12:36:00Z
    static let noon = WallTime(nanoseconds: 1_440_938_160 * 1_000_000_000)

    /// The examples in the S3 guide: a range of an object, and one with its digest.
    @Test func objectStore() throws {
        let signature = AWSSignature(
            accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            region: "us-east-1", service: "s3")
        // 2013-05-24T00:00:00Z
        let time = WallTime(nanoseconds: 1_369_353_600 * 1_000_000_000)
        func signed(_ method: String, _ url: String, _ headers: [(String, String)], _ body: String) throws -> String {
            let headers = signature.added(
                to: headers.map { HeaderField(name: $0.0, value: SecretText($0.1)) }, method: method,
                url: try ResourceURL.parse(url), payload: .sha256(AWSSignature.sha256(Array(body.utf8))), at: time)
            return headers.last { $0.name == "Authorization" }.map { String($0.value.revealed.suffix(64)) } ?? ""
        }
        let bucket = "https://examplebucket.s3.amazonaws.com/"
        #expect(
            try signed("GET", bucket + "test.txt", [("Range", "bytes=0-9")], "")
                == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
        #expect(
            try signed(
                "PUT", bucket + "test$file.text",
                [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                "Welcome to Amazon S3.") == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
        #expect(
            try signed("GET", bucket + "?lifecycle", [], "")
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        #expect(
            try signed("GET", bucket + "?max-keys=2&prefix=J", [], "")
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    /// However the writer spelled it, what is signed has one spelling; a `+` is a plus.
    @Test func spelling() throws {
        var signature = AWSSignature(accessKey: "A", secretKey: "B", region: "r", service: "s3")
        func signed(_ url: String) throws -> String? {
            let url = try ResourceURL.parse(url)
            return signature.added(to: [], method: "GET", url: url, payload: .unsigned, at: Self.noon)
                .last?.value.revealed
        }
        #expect(try signed("http://h/a%7eb?x=%7e&y=1") == signed("http://h/a~b?y=1&x=~"))
        #expect(try signed("http://h/a?x=a+b") == signed("http://h/a?x=a%2Bb"))
        #expect(try signed("http://h/a?x=a+b") != signed("http://h/a?x=a%20b"))
        for (url, sent) in [
            ("http://h:81/a b+c~ü//d?x=1+2&y&z=/", "http://h:81/a%20b%2Bc~%C3%BC//d?x=1%2B2&y&z=%2F"),
            ("https://h/", "https://h/"), ("https://h/a?", "https://h/a?"), ("https://h", "https://h/"),
        ] {
            #expect(signature.spelled(try ResourceURL.parse(url)) == sent)
        }
        // A segment of dots is a part of a key, and on the way it would be none; elsewhere it is none on both sides.
        for (path, asKey, asPath) in [
            ("/b/%2e%2E/o/k", "/b/%2E%2E/o/k", "/o/k"), ("/a/%2e/b", "/a/%2E/b", "/a/b"),
            ("/a/%2e%2e", "/a/%2E%2E", "/"), ("/%2e%2e/a", "/%2E%2E/a", "/a"),
            ("/a/..%2fb", "/a/%2E%2E/b", "/a/..%2Fb"), ("/a/%2e", "/a/%2E", "/a/"),
        ] {
            let url = try ResourceURL.parse("http://h" + path)
            #expect(signature.spelled(url) == "http://h" + asKey)
            let other = AWSSignature(accessKey: "A", secretKey: "B", region: "r", service: "api")
            #expect(other.spelled(url) == "http://h" + asPath)
            let plain = try ResourceURL.parse("http://h" + asPath)
            func lines(_ url: ResourceURL) -> [String] {
                other.added(to: [], method: "GET", url: url, payload: .unsigned, at: Self.noon).map(\.value.revealed)
            }
            #expect(lines(url) == lines(plain))
        }
        // A key is read with all its slashes, and what goes out is what was signed.
        #expect(try signed("http://h/a%2Fb%2fc") == signed("http://h/a/b/c"))
        #expect(signature.spelled(try ResourceURL.parse("http://h/a%2Fb%2fc")) == "http://h/a/b/c")
        #expect(try signed("http://h/a%252Fb") != signed("http://h/a/b"))
        #expect(try signed("http://h/a//b") != signed("http://h/a/b"))
        #expect(try signed("http://h:80/a") == signed("http://h/a"))
        #expect(try signed("http://h:81/a") != signed("http://h/a"))
        signature = AWSSignature(accessKey: "A", secretKey: "B", region: "r", service: "execute-api")
        #expect(try signed("http://h/a//b") == signed("http://h/a/b"))
        #expect(try signed("http://h/a%20b") != signed("http://h/a%2520b"))
        #expect(try signed("http://h/a%2Fb") != signed("http://h/a/b"))
    }

    private static let longToken =
        "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeo"
        + "IYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5V"
        + "SXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yj"
        + "c8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

    static let vectors = [
        Vector(
            "get-header-key-duplicate", "GET", "/",
            headers: [("My-Header1", "value2"), ("My-Header1", "value2"), ("My-Header1", "value1")],
            signature: "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"),
        Vector(
            "get-header-value-multiline", "GET", "/", headers: [("My-Header1", "value1\n  value2\n     value3")],
            signature: "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd"),
        Vector(
            "get-header-value-order", "GET", "/",
            headers: [
                ("My-Header1", "value4"), ("My-Header1", "value1"), ("My-Header1", "value3"), ("My-Header1", "value2"),
            ],
            signature: "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"),
        Vector(
            "get-header-value-trim", "GET", "/",
            headers: [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
            signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
        Vector(
            "get-relative-normalized", "GET", "/example/..",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Vector(
            "get-relative-relative-normalized", "GET", "/example1/example2/../..",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Vector(
            "get-slash-dot-slash-normalized", "GET", "/./",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Vector(
            "get-slash-normalized", "GET", "//",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Vector(
            "get-slash-pointless-dot-normalized", "GET", "/./example",
            signature: "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"),
        Vector(
            "get-slash-unnormalized", "GET", "//", normalizes: false,
            signature: "c88bcd3d312d75078c0cd961d6deae3f4c754924b01669efcfcb439fd5e5b76e"),
        Vector(
            "get-slashes-normalized", "GET", "//example//",
            signature: "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"),
        Vector(
            "get-slashes-unnormalized", "GET", "//example//", normalizes: false,
            signature: "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5"),
        Vector(
            "get-space-normalized", "GET", "/example space/",
            signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
        Vector(
            "get-space-unnormalized", "GET", "/example space/", normalizes: false,
            signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
        Vector(
            "get-unreserved", "GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
        Vector("get-utf8", "GET", "/ሴ", signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        Vector(
            "get-vanilla", "GET", "/",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Vector(
            "get-vanilla-empty-query-key", "GET", "/?Param1=value1",
            signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
        Vector(
            "get-vanilla-query", "GET", "/",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Vector(
            "get-vanilla-query-order-encoded", "GET", "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
            signature: "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"),
        Vector(
            "get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1",
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        Vector(
            "get-vanilla-query-unreserved", "GET",
            "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
        Vector(
            "get-vanilla-utf8-query", "GET", "/?ሴ=bar",
            signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
        Vector(
            "get-vanilla-with-session-token", "GET", "/",
            token: "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267",
            signature: "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
        Vector(
            "post-header-key-case", "POST", "/",
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        Vector(
            "post-header-key-sort", "POST", "/", headers: [("My-Header1", "value1")],
            signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"),
        Vector(
            "post-header-value-case", "POST", "/", headers: [("My-Header1", "VALUE1")],
            signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"),
        Vector(
            "post-sts-header-after", "POST", "/", token: longToken, signsToken: false,
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        Vector(
            "post-sts-header-before", "POST", "/", token: longToken,
            signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
        Vector(
            "post-vanilla", "POST", "/",
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        Vector(
            "post-vanilla-empty-query-value", "POST", "/?Param1=value1",
            signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
        Vector(
            "post-vanilla-query", "POST", "/?Param1=value1",
            signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
        Vector(
            "post-x-www-form-urlencoded", "POST", "/",
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", "13")],
            body: "Param1=value1", announces: true,
            signature: "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"),
        Vector(
            "post-x-www-form-urlencoded-parameters", "POST", "/",
            headers: [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"), ("Content-Length", "13")],
            body: "Param1=value1", announces: true,
            signature: "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422"),
    ]
}

import Digests
package import HTTPRules
import TransferModel

extension CacheMarker {
    /// Marks that say nothing to who has not the key: HMAC-SHA-256, half of it.
    package static func keyed(by key: [UInt8]) -> CacheMarker {
        CacheMarker { Self.hexadecimal(KeyedDigest.sha256(Array($0.utf8), key: key).prefix(16)) }
    }

    package static func newKey() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: 0...255) } }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}

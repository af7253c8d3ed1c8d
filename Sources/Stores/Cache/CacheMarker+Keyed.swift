import Digests
package import HTTPRules
import TransferModel

extension CacheMarker {
    /// Returns a marker whose marks reveal nothing without the key: the first half of an HMAC-SHA-256.
    package static func keyed(by key: [UInt8]) -> CacheMarker {
        CacheMarker { Self.hexadecimal(KeyedDigest.sha256(Array($0.utf8), key: key).prefix(16)) }
    }

    /// Returns a random key of 32 bytes for a new cache.
    package static func newKey() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: 0...255) } }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}

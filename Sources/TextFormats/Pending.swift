package import TransferModel
package enum HTTPDate { package static func parse(_ t: String) -> WallTime? { nil } }
package enum Base64 { package static func decode(_ t: String) -> [UInt8]? { nil } }

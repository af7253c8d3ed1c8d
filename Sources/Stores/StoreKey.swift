package import TransferModel

/// The text under which the store keeps what it knows of a download's file.
package enum StoreKey {
    /// Returns the destination's path or, where that is a folder, the folder and the URL that gives the file its name.
    package static func of(destination: String?, _ location: TaskSpecification.Location) -> String {
        let destination = destination ?? ""
        guard destination.utf8.last == UInt8(ascii: "/"), let url = location.url else { return destination }
        return destination + url.text
    }
}

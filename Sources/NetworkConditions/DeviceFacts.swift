import SystemIO

/// What sysfs says of an interface.
package struct DeviceFacts: Hashable, Sendable {
    package var isWireless: Bool
    /// `wwan`, `wlan`, `bridge`, …
    package var type: String?
    /// There is a card or a chip.
    package var isPhysical: Bool
    /// The interfaces that it stands on, by name.
    package var lowers: [String]

    package init(isWireless: Bool = false, type: String? = nil, isPhysical: Bool = false, lowers: [String] = []) {
        self.isWireless = isWireless
        self.type = type
        self.isPhysical = isPhysical
        self.lowers = lowers
    }
}

/// Reads `/sys/class/net`.
package struct DeviceFolder {
    /// Where sysfs is mounted.
    package let root: String

    package init(root: String = "/sys") { self.root = root }

    /// `nil` when sysfs knows nothing of that interface. It may have been mounted in another network namespace, where
    /// another interface has this name: the number tells.
    package func facts(of name: String, index: UInt32) -> DeviceFacts? {
        guard !name.contains("/"), name != ".", name != ".." else { return nil }
        let folder = "\(root)/class/net/\(name)"
        guard SystemFile.line("\(folder)/ifindex") == "\(index)" else { return nil }
        let names = Folders.names(in: folder)
        return DeviceFacts(
            isWireless: names.contains("wireless") || names.contains("phy80211"),
            type: Self.value(of: "DEVTYPE", in: SystemFile.text("\(folder)/uevent") ?? ""),
            isPhysical: names.contains("device"),
            lowers: names.filter { $0.hasPrefix("lower_") }.map { String($0.dropFirst(6)) }.sorted())
    }

    /// Of lines such as `DEVTYPE=wlan`.
    private static func value(of name: String, in text: String) -> String? {
        for line in text.split(separator: "\n") where line.hasPrefix("\(name)=") {
            return String(line.dropFirst(name.utf8.count + 1))
        }
        return nil
    }
}

/// The short files of sysfs.
enum SystemFile {
    static func text(_ path: String) -> String? {
        guard let bytes = try? WholeFile.read(path, limit: 64 << 10) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Its first line.
    static func line(_ path: String) -> String? {
        text(path).map { String($0.prefix { $0 != "\n" }) }
    }
}

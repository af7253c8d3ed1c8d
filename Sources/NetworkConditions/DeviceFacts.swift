import SystemIO

/// What sysfs says about an interface.
package struct DeviceFacts: Hashable, Sendable {
    /// Whether sysfs has a `wireless` or `phy80211` entry for it.
    package var isWireless: Bool
    /// The `DEVTYPE` of its `uevent`: `wwan`, `wlan`, `bridge`, …; `nil` if it has none.
    package var type: String?
    /// Whether it has a hardware device.
    package var isPhysical: Bool
    /// The names of the interfaces that it stands on.
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

    /// Returns the facts of an interface; `nil` when sysfs does not have it. sysfs may have been mounted in another
    /// network namespace, where another interface has this name, so that the index is compared too.
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

    /// Returns a value from lines such as `DEVTYPE=wlan`.
    private static func value(of name: String, in text: String) -> String? {
        for line in text.split(separator: "\n") where line.hasPrefix("\(name)=") {
            return String(line.dropFirst(name.utf8.count + 1))
        }
        return nil
    }
}

/// Reads short files of sysfs.
enum SystemFile {
    static func text(_ path: String) -> String? {
        guard let bytes = try? WholeFile.read(path, limit: 64 << 10) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the file's first line.
    static func line(_ path: String) -> String? {
        text(path).map { String($0.prefix { $0 != "\n" }) }
    }
}

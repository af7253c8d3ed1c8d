package import TransferModel

/// Decides the class of each network interface, from facts alone. Where these leave room, the stricter reading is
/// taken: a task that may not use a mobile network should rather wait than be billed.
package struct ClassRule {
    private let facts: NetworkFacts
    private let map: NetworkMap
    private let byIndex: [UInt32: NetlinkMessage.Link]
    private let byName: [String: NetlinkMessage.Link]
    /// Links that are ports of a bridge or bond, by its index.
    private let ports: [UInt32: [NetlinkMessage.Link]]
    /// Whether some link leads to other machines by itself.
    private var hasGround = false
    /// The links that tunnels go over.
    private var bases: [NetlinkMessage.Link] = []

    package init(_ facts: NetworkFacts, map: NetworkMap) {
        self.facts = facts
        self.map = map
        byIndex = Dictionary(facts.table.links.map { ($0.index, $0) }) { first, _ in first }
        byName = Dictionary(facts.table.links.map { ($0.name, $0) }) { first, _ in first }
        ports = Dictionary(grouping: facts.table.links.filter { $0.master != nil }) { $0.master ?? 0 }
        hasGround = facts.table.links.contains { isGround($0) }
        bases = tunnelBases()
    }

    /// Returns every interface, in the kernel's order.
    package func interfaces() -> [NetworkInterface] {
        facts.table.links.map { link in
            let verdict = judge(link, behind: [])
            return NetworkInterface(
                index: link.index, name: link.name, networkClass: verdict.networkClass, isMetered: verdict.isMetered,
                isConstrained: verdict.isConstrained, why: verdict.why, isUsable: facts.isUsable(link),
                addresses: facts.table.addresses[link.index] ?? [])
        }
    }

    fileprivate struct Verdict {
        var networkClass: NetworkClass
        var isMetered = false
        var isConstrained = false
        var why: String
    }

    // MARK: One interface

    /// Returns the verdict on a link. `path` has the links that led here, so that links standing on each other in a
    /// circle end the search.
    private func judge(_ link: NetlinkMessage.Link, behind path: [UInt32]) -> Verdict {
        var verdict = found(link, behind: path)
        if let word = facts.meters[link.name], verdict.networkClass != .none {
            meter(&verdict, word)
        }
        if let entry = map.entry(for: link.name) { verdict.take(entry) }
        return verdict
    }

    private func meter(_ verdict: inout Verdict, _ word: MeteredState) {
        // A guess about a link that stands on others is worth less than what is known about those.
        if word == .guessedNo, verdict.isMetered, verdict.networkClass != .cellular { return }
        if word.isMetered != verdict.isMetered {
            verdict.why += "; \(word.isMetered ? "metered" : "not metered"), as NetworkManager "
            verdict.why += word.isGuess ? "guesses" : "says"
        }
        verdict.isMetered = word.isMetered
    }

    private func found(_ link: NetlinkMessage.Link, behind path: [UInt32]) -> Verdict {
        if let verdict = direct(link) { return verdict }
        let lowers = lowers(of: link).filter { $0.index != link.index && !path.contains($0.index) }
        if !lowers.isEmpty { return standing(on: lowers, link, path) }
        if isBundle(link) { return Verdict(networkClass: .none, why: "a \(kind(link) ?? "bridge") of no ports") }
        // A tunnel that is a bridge's port leads to a machine within this one.
        if isTunnel(link), link.master == nil {
            let bases = bases.filter { !path.contains($0.index) }
            if !bases.isEmpty { return strictest(bases, path, link) { "a tunnel over \($0)" } }
        }
        if let verdict = named(link) { return verdict }
        return unknown(link)
    }

    /// Returns what the device itself tells; `nil` if it tells nothing.
    private func direct(_ link: NetlinkMessage.Link) -> Verdict? {
        if link.isLoopback { return Verdict(networkClass: .none, why: "loopback") }
        let device = facts.devices[link.index]
        switch device?.type {
        case "wwan": return Verdict(networkClass: .cellular, isMetered: true, why: "a mobile broadband device")
        case "wlan": return Verdict(networkClass: .wifi, why: "a wireless device")
        default: return device?.isWireless == true ? Verdict(networkClass: .wifi, why: "a wireless device") : nil
        }
    }

    private func named(_ link: NetlinkMessage.Link) -> Verdict? {
        let starts: [(String, NetworkClass)] = [
            ("en", .wired), ("eth", .wired), ("ib", .wired), ("wl", .wifi), ("ww", .cellular),
        ]
        guard !isTunnel(link), let start = starts.first(where: { link.name.hasPrefix($0.0) }) else { return nil }
        return Verdict(
            networkClass: start.1, isMetered: start.1 == .cellular, why: "its name begins with `\(start.0)`")
    }

    private func unknown(_ link: NetlinkMessage.Link) -> Verdict {
        if facts.devices[link.index]?.isPhysical == true { return Verdict(networkClass: .wired, why: "a network card") }
        if facts.leadingOut.contains(link.index), !hasGround {
            return Verdict(networkClass: .wired, why: "the only way out of this machine")
        }
        return Verdict(networkClass: .none, why: "\(kind(link).map { "`\($0)`, " } ?? "")for this machine alone")
    }

    // MARK: What stands on something else

    private func kind(_ link: NetlinkMessage.Link) -> String? { link.kind ?? facts.devices[link.index]?.type }

    private func isBundle(_ link: NetlinkMessage.Link) -> Bool {
        ["bridge", "bond", "team"].contains(kind(link) ?? "")
    }

    private static let tunnelKinds: Set = [
        "tun", "wireguard", "ppp", "ipip", "sit", "gre", "gretap", "ip6tnl", "ip6gre", "vti", "vti6", "xfrm", "vxlan",
        "geneve", "ovpn",
    ]

    /// Whether the link is a tunnel, by how it was made or by a hardware type that only software has: PPP, none, and
    /// tunnels of all kinds.
    private func isTunnel(_ link: NetlinkMessage.Link) -> Bool {
        if let kind = kind(link), Self.tunnelKinds.contains(kind) { return true }
        return facts.devices[link.index]?.isPhysical != true
            && [512, 65534, 768, 769, 776, 778, 823].contains(link.hardware)
    }

    private func lowers(of link: NetlinkMessage.Link) -> [NetlinkMessage.Link] {
        var lowers = ports[link.index] ?? []
        if let base = link.base.flatMap({ byIndex[$0] }) { lowers.append(base) }
        for name in facts.devices[link.index]?.lowers ?? [] {
            if let lower = byName[name], !lowers.contains(lower) { lowers.append(lower) }
        }
        return lowers
    }

    private func standing(on lowers: [NetlinkMessage.Link], _ link: NetlinkMessage.Link, _ path: [UInt32]) -> Verdict {
        let verdict = strictest(lowers, path, link) { "stands on \($0)" }
        if verdict.networkClass != .none { return verdict }
        return Verdict(networkClass: .none, why: "a \(kind(link) ?? "bridge") for this machine alone")
    }

    private func strictest(
        _ lowers: [NetlinkMessage.Link], _ path: [UInt32], _ link: NetlinkMessage.Link, why: (String) -> String
    ) -> Verdict {
        let verdicts = lowers.map { ($0.name, judge($0, behind: path + [link.index])) }
        let order: [NetworkClass] = [.none, .wired, .wifi, .cellular]
        let rank = { (verdict: Verdict) in order.firstIndex(of: verdict.networkClass) ?? 0 }
        guard let worst = verdicts.max(by: { rank($0.1) < rank($1.1) }) else {
            return Verdict(networkClass: .none, why: "")
        }
        return Verdict(
            networkClass: worst.1.networkClass, isMetered: verdicts.contains { $0.1.isMetered },
            isConstrained: verdicts.contains { $0.1.isConstrained }, why: why("\(worst.0), \(worst.1.networkClass)"))
    }

    // MARK: Tunnels

    /// Whether the link leads to other machines by itself.
    private func isGround(_ link: NetlinkMessage.Link) -> Bool {
        if let verdict = direct(link) { return verdict.networkClass != .none }
        if let written = map.entry(for: link.name)?.networkClass { return written != .none }
        return named(link) != nil || facts.devices[link.index]?.isPhysical == true
    }

    /// Returns the links that a tunnel may go over: those that lead out now or, if there are none, those that are
    /// plugged in.
    private func tunnelBases() -> [NetlinkMessage.Link] {
        let candidates = facts.table.links.filter { !$0.isLoopback && !isTunnel($0) }
        let out = candidates.filter { facts.leadingOut.contains($0.index) && facts.isUsable($0) }
        return out.isEmpty ? candidates.filter { isGround($0) && $0.isUp && $0.isRunning } : out
    }
}

extension ClassRule.Verdict {
    fileprivate mutating func take(_ entry: NetworkMap.Entry) {
        if let networkClass = entry.networkClass {
            self.networkClass = networkClass
            isMetered = networkClass == .cellular
        }
        if let isMetered = entry.isMetered { self.isMetered = isMetered }
        if let isConstrained = entry.isConstrained { self.isConstrained = isConstrained }
        let written = [
            entry.networkClass == nil ? nil : "class", entry.isMetered == nil ? nil : "metered",
            entry.isConstrained == nil ? nil : "constrained",
        ].compactMap { $0 }
        guard !written.isEmpty else { return }
        let source = "networks.yaml (`\(entry.pattern)`)"
        why = entry.networkClass == nil ? "\(why); \(written.joined(separator: ", ")): \(source)" : source
    }
}

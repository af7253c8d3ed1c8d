/// The account that a service runs as.
package enum ServiceAccount: Hashable, Sendable {
    /// The user whose manager runs a user's unit.
    case owner
    /// Root, as a unit of the system does that names no user.
    case root
    /// A user of the system, by name or number.
    case user(String)
    /// A user that systemd makes for the time of the run (`DynamicUser=`).
    case dynamic

    /// Why no account fits what was asked for.
    package enum Problem: Error, Hashable, Sendable {
        /// Both options are there.
        case both
        /// Without root a unit is the user's own; the option that cannot be meant.
        case needsRoot(String)
        /// The text cannot be a user's name.
        case noName(String)
    }

    /// Returns the account for `--user` and `--dynamic-user`, and for root or another user who writes the unit.
    package static func chosen(
        user: String?, isDynamic: Bool, isRoot: Bool
    ) -> Result<ServiceAccount, Problem> {
        if user != nil, isDynamic { return .failure(.both) }
        if isDynamic { return isRoot ? .success(.dynamic) : .failure(.needsRoot("--dynamic-user")) }
        guard let user else { return .success(isRoot ? .root : .owner) }
        guard isRoot else { return .failure(.needsRoot("--user")) }
        return isName(user) ? .success(.user(user)) : .failure(.noName(user))
    }

    /// Whether the text can be a user's name or number, which stands in a unit as it is.
    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && !"-.".utf8.contains(text.utf8.first ?? 0)
            && text.utf8.allSatisfy { UnitText.isAlphanumeric($0) || "_-.".utf8.contains($0) }
    }
}

/// What a service with `DynamicUser=` can reach. Its user owns no file before the first run, and belongs to no group.
package enum DynamicAccess {
    /// Returns the paths at which the service cannot write, since they are outside its own folders.
    package static func unwritable(_ paths: [String], own folders: [String]) -> [String] {
        paths.filter { path in !folders.contains { path == $0 || path.hasPrefix($0 + "/") } }
    }

    /// Why the service cannot use a file.
    package enum Obstacle: Hashable, Sendable {
        /// The file is in a temporary folder, of which the service has one of its own.
        case temporary
        /// The file, or a folder above it, has no permission for other users.
        case closed(String)
    }

    /// Returns why the service cannot read the file at `path`, or run it. `modes` has the permissions of the file and of
    /// each folder above it, by their paths.
    package static func obstacle(
        _ path: String, modes: [(path: String, mode: UInt32)], isProgram: Bool = false
    ) -> Obstacle? {
        if UnitText.isTemporary(path) { return .temporary }
        return closed(path, modes: modes, isProgram: isProgram).map { .closed($0) }
    }

    /// Returns the path that keeps others from reading the file, or from running it: its own, or that of a folder above it.
    /// The last three bits of each of `modes` are the permissions of those others.
    package static func closed(_ path: String, modes: [(path: String, mode: UInt32)], isProgram: Bool) -> String? {
        modes.first { entry in
            let needed: UInt32 = entry.path != path || isProgram ? 0o001 : 0o004
            return entry.mode & needed == 0
        }?.path
    }
}

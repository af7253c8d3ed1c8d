internal import Glibc

/// A private D-Bus on which python3-dbusmock imitates NetworkManager and UPower.
package final class MockBus: Sendable {
    private let tree: TemporaryTree
    private let daemon: RunningProgram
    private let services: RunningProgram
    private let commands: CommandPipe

    /// The value for `DBUS_SYSTEM_BUS_ADDRESS`.
    package var address: String { "unix:path=\(tree.path("bus"))" }

    package init() throws {
        tree = try TemporaryTree("bus")
        let (address, script) = ("unix:path=\(tree.path("bus"))", try tree.write("mocks.py", Self.script))
        daemon = try Binary(program: "/usr/bin/dbus-daemon").start(
            ["--session", "--nofork", "--nopidfile", "--print-address=1", "--address=\(address)"])
        guard daemon.waitForOutput("unix:path=") else { throw SystemFailure("dbus-daemon", ETIMEDOUT) }
        let pipe = tree.path("commands")
        guard mkfifo(pipe, 0o600) == 0 else { throw SystemFailure("mkfifo") }
        services = try Binary(program: "/usr/bin/python3").start(
            [script, pipe], environment: ["DBUS_SYSTEM_BUS_ADDRESS": address])
        commands = try CommandPipe(pipe)
        guard services.waitForOutput("ready") else {
            throw SystemFailure("dbusmock: \(services.errorOutputSoFar)", ETIMEDOUT)
        }
    }

    deinit { stop() }

    /// Kills the bus and the services on it.
    package func stop() {
        for program in [daemon, services] {
            program.send(signal: SIGKILL)
            _ = program.wait()
        }
    }

    /// Executes a line of Python with the script's functions (`own`, `drop`, `device`, `update`); returns when it was
    /// executed.
    package func perform(_ line: String) throws {
        let number = commands.next()
        try commands.write("\(line); print('done \(number)', flush=True)\n")
        guard services.waitForOutput("done \(number)\n") else {
            throw SystemFailure("dbusmock: \(services.errorOutputSoFar)", ETIMEDOUT)
        }
    }

    /// Whether everything that the mock needs is installed; prints what is not.
    package static let isThere: Bool = {
        do {
            _ = try MockBus()
            return true
        } catch {
            print("skipped: what NetworkManager and UPower would say, because nobody can play them: \(error)")
            return false
        }
    }()

    private static let script = """
        import sys, dbus, dbus.service, dbus.mainloop.glib
        from gi.repository import GLib
        from dbusmock import mockobject
        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        bus = dbus.SystemBus()
        NM, UP = 'org.freedesktop.NetworkManager', 'org.freedesktop.UPower'
        names, objects = {}, {}
        def own(name): names[name] = dbus.service.BusName(name, bus, do_not_queue=True)
        def drop(name): bus.release_name(name); names.pop(name)
        def make(name, path, interface, properties):
            objects[path] = mockobject.DBusMockObject(dbus.service.BusName(own_name, bus), path, interface, properties)
            mockobject.objects[path] = objects[path]
        own_name = 'org.example.Mocks'
        make(NM, '/org/freedesktop/NetworkManager', NM, {})
        devices = []
        def listed():
            objects['/org/freedesktop/NetworkManager'].AddMethod(NM, 'GetAllDevices', '', 'ao',
                'ret = ' + repr(['/org/freedesktop/NetworkManager/Devices/%s' % name for name in devices]))
        def device(name, ip_name, metered):
            devices.append(name)
            make(NM, '/org/freedesktop/NetworkManager/Devices/' + name, NM + '.Device', {
                'Interface': name, 'IpInterface': ip_name, 'Metered': dbus.UInt32(metered)})
            listed()
            objects['/org/freedesktop/NetworkManager'].EmitSignal(NM, 'DeviceAdded', 'o',
                ['/org/freedesktop/NetworkManager/Devices/' + name])
        def update(path, interface, **properties): objects[path].UpdateProperties(interface, properties)
        def metered(name, value):
            update('/org/freedesktop/NetworkManager/Devices/' + name, NM + '.Device', Metered=dbus.UInt32(value))
        DISPLAY = '/org/freedesktop/UPower/devices/DisplayDevice'
        make(UP, '/org/freedesktop/UPower', UP, {'OnBattery': False})
        make(UP, DISPLAY, UP + '.Device', {'IsPresent': True, 'Percentage': 80.0, 'State': dbus.UInt32(1)})
        def power(on_battery, percentage, state):
            update('/org/freedesktop/UPower', UP, OnBattery=dbus.Boolean(on_battery))
            update(DISPLAY, UP + '.Device', Percentage=dbus.Double(percentage), State=dbus.UInt32(state))
        listed()
        pipe = open(sys.argv[1])
        def read(source, condition):
            exec(pipe.readline(), globals())
            return True
        GLib.io_add_watch(pipe, GLib.IO_IN, read)
        print('ready', flush=True)
        GLib.MainLoop().run()
        """
}

/// A named pipe for writing lines to the mock script.
private final class CommandPipe: Sendable {
    private let raw: Int32
    private let count = Monitor(0)

    init(_ path: String) throws {
        // Open for reading too, so that opening does not wait for a reader.
        raw = open(path, O_RDWR | O_CLOEXEC)
        guard raw >= 0 else { throw SystemFailure("open \(path)") }
    }

    deinit { close(raw) }

    func next() -> Int {
        count.with {
            $0 += 1
            return $0
        }
    }

    func write(_ line: String) throws {
        let bytes = Array(line.utf8)
        guard Glibc.write(raw, bytes, bytes.count) == bytes.count else { throw SystemFailure("write") }
    }
}

import CLinux
import Glibc

/// How to start a program: command line, environment and folder.
package struct ProgramStart: Sendable {
    /// The path of the program, then its arguments.
    package var commandLine: [String]
    /// The whole environment. This process's own is not inherited, because variables such as PGHOST would mislead
    /// PostgreSQL.
    package var environment: [String: String]
    /// The working directory. The default is the root, because the program may have no access to this process's
    /// directory.
    package var folder: String

    package init(
        _ commandLine: [String],
        environment: [String: String] = ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C"],
        folder: String = "/"
    ) {
        self.commandLine = commandLine
        self.environment = environment
        self.folder = folder
    }

    /// Starts the program. It inherits only these descriptors, and no signal is blocked or ignored. Without `input` its
    /// standard input is empty.
    ///
    /// It leads its own process group, so that keys such as Ctrl-C on the terminal do not reach it.
    ///
    /// - Returns: Its process id. The calling thread is its parent.
    /// - Throws: ``ReactorError/Code/system``, with the path.
    package func spawn(input: Int32? = nil, output: Int32, errors: Int32) throws(ReactorError) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        if let input {
            unsafe posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        }
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        unsafe posix_spawn_file_actions_addchdir_np(&actions, folder)
        var attributes = Self.attributes()
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        let arguments = CStrings(commandLine)
        let variables = CStrings(environment.map { "\($0)=\($1)" })
        var processID: pid_t = 0
        let error = withExtendedLifetime((arguments, variables)) {
            unsafe posix_spawn(
                &processID,
                commandLine[0],
                &actions,
                &attributes,
                arguments.pointers,
                variables.pointers
            )
        }
        guard error == 0 else { throw ReactorError(operation: "posix_spawn", errno: error, detail: commandLine[0]) }
        return processID
    }

    private static func attributes() -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        return attributes
    }
}

/// A list of C strings that ends with a null pointer; valid as long as this lives.
@safe
private final class CStrings {
    let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    init(_ strings: [String]) {
        count = strings.count
        unsafe pointers = .allocate(capacity: strings.count + 1)
        for (index, string) in strings.enumerated() { unsafe (pointers + index).initialize(to: strdup(string)) }
        unsafe (pointers + count).initialize(to: nil)
    }

    deinit {
        for index in 0..<count { unsafe free(pointers[index]) }
        unsafe pointers.deallocate()
    }
}

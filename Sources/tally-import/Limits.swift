import Glibc

/// The resource limits for one import.
enum Limits {
    /// The largest allowed sources take a few seconds in a debug build.
    private static let cpuSeconds = 30
    private static let memoryBytes = 2 << 30
    /// As many bytes as a request that contains the schemas directly.
    private static let answerBytes = 1 << 20

    /// Sets the limits for this process. The system ends a process that exceeds them.
    static func set() {
        set(RLIMIT_CPU, cpuSeconds)
        set(RLIMIT_AS, memoryBytes)
        set(RLIMIT_FSIZE, answerBytes)
        set(RLIMIT_CORE, 0)
    }

    private static func set(_ name: __rlimit_resource, _ value: Int) {
        let resource = __rlimit_resource_t(name.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        // Keeps a lower limit from the environment.
        limit.rlim_cur = min(rlim_t(value), limit.rlim_max)
        limit.rlim_max = limit.rlim_cur
        setrlimit(resource, &limit)
    }
}

import Glibc

/// What a source may cost.
enum Limits {
    /// Sources at the limits of the importer take a few seconds in a debug build.
    private static let cpuSeconds = 30
    private static let memoryBytes = 2 << 30
    /// As many as a request that brings the schemas itself.
    private static let answerBytes = 1 << 20

    /// Puts them on this process; what goes beyond ends it.
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
        // A lower one that the caller's surroundings set stays.
        limit.rlim_cur = min(rlim_t(value), limit.rlim_max)
        limit.rlim_max = limit.rlim_cur
        setrlimit(resource, &limit)
    }
}

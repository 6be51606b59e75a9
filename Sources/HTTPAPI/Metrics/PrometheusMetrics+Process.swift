import Glibc

extension PrometheusMetrics {
    /// Adds the figures of this process that Prometheus' own libraries have, under the same names.
    package func readProcess() {
        counter("process_cpu_seconds_total") { ProcessFigures.seconds(CLOCK_PROCESS_CPUTIME_ID) }
        gauge("process_resident_memory_bytes") { ProcessFigures.residentBytes }
        gauge("process_open_fds") { ProcessFigures.openDescriptors }
        let start = ProcessFigures.startTime
        gauge("process_start_time_seconds") { start }
    }
}

/// What the kernel says of this process. A figure that it does not tell is 0.
enum ProcessFigures {
    static var residentBytes: Double {
        let pages = text("/proc/self/statm").split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Without the one that the look itself takes.
    static var openDescriptors: Double {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            // `.` and `..` are no descriptors.
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        return Double(count - 1)
    }

    /// In seconds since 1970.
    static var startTime: Double {
        // The second word is the name of the program in brackets, which may hold blanks.
        let words = text("/proc/self/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard words.count > 19, let ticks = Double(words[19]) else { return 0 }
        let afterBoot = ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
        return seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) + afterBoot
    }

    static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return 0 }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
    }

    /// A short file of the kernel; empty if it cannot be read.
    private static func text(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }
}

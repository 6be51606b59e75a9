import Foundation
import Reactor
import Testing

@Suite("Child processes")
struct ChildProcessTests {
    private func output(
        of script: String,
        timeout: Duration = .seconds(60)
    ) async throws -> (ending: ChildProcess.Ending, text: String) {
        try await ChildProcess.output(of: ProgramStart(["/bin/sh", "-c", script]), timeout: timeout)
    }

    @Test("A program tells how it ended and what it printed")
    func endings() async throws {
        let exited = try await output(of: "echo to the one; echo to the other >&2; exit 3")
        #expect(exited.ending == .exited(3))
        #expect(exited.text == "to the one\nto the other\n")
        let killed = try await output(of: "kill -TERM $$")
        #expect(killed.ending == .killed(signal: SIGTERM))
        let long = try await output(of: "head -c 300000 /dev/zero | tr '\\0' x")
        #expect(long.text.utf8.count == 300_000)
    }

    @Test("A program that takes too long is killed, and that is an error")
    func deadline() async throws {
        let error = await #expect(throws: ReactorError.self) {
            try await output(of: "sleep 600", timeout: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
    }

    @Test("A program that is not there is an error that names it")
    func missing() async throws {
        let error = await #expect(throws: ReactorError.self) {
            try await ChildProcess.output(of: ProgramStart(["/nowhere/nothing"]), timeout: .seconds(60))
        }
        #expect(error?.description.contains("/nowhere/nothing") == true)
    }

    @Test("A program reads what it is given, and without that nothing")
    func input() async throws {
        let count = ProgramStart(["/usr/bin/wc", "-c"])
        let given = try await ChildProcess.output(
            of: count,
            input: [UInt8](repeating: 120, count: 300_000),
            timeout: .seconds(60)
        )
        #expect(given.text.trimmingCharacters(in: .whitespacesAndNewlines) == "300000")
        #expect(try await ChildProcess.output(of: count, timeout: .seconds(60)).text.hasPrefix("0"))
    }

    @Test("It gets nothing of ours: no descriptor, no variable, no folder, no terminal's signals")
    func nothingOfOurs() async throws {
        // On purpose not closed on exec.
        let descriptors = (0..<20).map { _ in open("/dev/null", O_RDONLY) }
        defer { descriptors.forEach { close($0) } }
        let listed = try await ChildProcess.output(
            of: ProgramStart(["/bin/ls", "/proc/self/fd"]),
            timeout: .seconds(60)
        )
        // The fourth is the folder that ls reads.
        #expect(listed.text == "0\n1\n2\n3\n")
        // The fifth field is the process group.
        let shown = try await output(
            of: "pwd; env | grep -c HOME; cut -d ' ' -f 5 /proc/$$/stat; echo $$"
        )
        let lines = shown.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        try #require(lines.count == 4, "\(shown.text)")
        #expect(lines[0] == "/")
        #expect(lines[1] == "0")
        #expect(lines[2] == lines[3])
    }

    @Test("Thousands of open descriptors are no obstacle")
    func manyDescriptors() async throws {
        var limit = rlimit()
        try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 8192))
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        let descriptors = (0..<3000).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        defer { descriptors.forEach { close($0) } }
        try #require(descriptors.allSatisfy { $0 >= 0 })
        let shown = try await output(of: "echo here")
        #expect(shown.text == "here\n")
    }
}

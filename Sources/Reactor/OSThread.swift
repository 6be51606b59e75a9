import CLinux
import Glibc

/// A thread of the operating system, for work that blocks.
struct OSThread: Sendable {
    private let handle: pthread_t

    /// Starts `body` on a new thread.
    ///
    /// - `name`: shown in `top -H` and debuggers; the kernel keeps 15 bytes.
    init(name: String, body: @escaping @Sendable () -> Void) throws(ReactorError) {
        var handle = pthread_t()
        let box = unsafe Unmanaged.passRetained(Body(name: name, run: body))
        let result = unsafe pthread_create(&handle, nil, threadMain, box.toOpaque())
        guard result == 0 else {
            unsafe box.release()
            throw ReactorError(operation: "pthread_create", errno: result)
        }
        self.handle = handle
    }

    /// A number for the calling thread, unique among living threads.
    static var current: UInt { UInt(pthread_self()) }

    /// Waits until the thread has returned. Call it once, instead of ``detach()``.
    func join() {
        _ = pthread_join(handle, nil)
    }

    /// Makes the thread release its own resources at its end. Call it once, instead of ``join()``.
    func detach() {
        pthread_detach(handle)
    }
}

private final class Body: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(name: String, run: @escaping @Sendable () -> Void) {
        self.name = name
        self.run = run
    }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
    // Only a help for people; the kernel truncates long names.
    _ = unsafe CLinux_name_thread(body.name)
    body.run()
    return nil
}

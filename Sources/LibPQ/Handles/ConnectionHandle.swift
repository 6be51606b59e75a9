import CLibPQ
import Glibc

/// A connection as libpq keeps it: every call one to one, nothing decided, nothing waited for.
///
/// Closed and freed when the last reference goes. Functions that return Bool say whether libpq accepted the call;
/// ``errorMessage`` has the reason.
@safe
final class ConnectionHandle: @unchecked Sendable {
    // Sendable without a check by the compiler: libpq lets a connection move between threads as long as no two use it
    // at once, and the one owner, a Session, takes its claim before each operation.
    private let raw: OpaquePointer

    /// `PQconnectStartParams`. Resolves the first host name, which may block.
    ///
    /// - Throws: ``LibPQError/Code/unreachable`` when memory is short; anything else shows in ``isBad``.
    init(parameters: [ConnectionSettings.Parameter]) throws(LibPQError) {
        // Arrays of C strings, as libpq's arrays of names and values want them, ended by nil.
        var keywords = unsafe parameters.map { unsafe UnsafePointer<CChar>(strdup($0.keyword)) }
        var values = unsafe parameters.map { unsafe UnsafePointer<CChar>(strdup($0.value)) }
        unsafe keywords.append(nil)
        unsafe values.append(nil)
        defer {
            let strings = unsafe keywords + values
            for index in unsafe strings.indices { unsafe free(UnsafeMutablePointer(mutating: strings[index])) }
        }
        guard let raw = unsafe PQconnectStartParams(keywords, values, 0) else {
            throw LibPQError(.unreachable, message: "out of memory")
        }
        unsafe self.raw = raw
        // By default libpq writes the server's notices to standard error.
        _ = unsafe PQsetNoticeReceiver(raw, { _, _ in }, nil)
    }

    deinit { unsafe PQfinish(raw) }

    // MARK: State

    /// What connecting waits for.
    enum Polling { case reading, writing, ready, failed }

    /// `PQconnectPoll`. May resolve the next host name, which may block.
    func poll() -> Polling {
        switch unsafe PQconnectPoll(raw) {
        case PGRES_POLLING_READING: .reading
        case PGRES_POLLING_WRITING: .writing
        case PGRES_POLLING_OK: .ready
        default: .failed
        }
    }

    var isBad: Bool { unsafe PQstatus(raw) == CONNECTION_BAD }

    /// The socket, -1 without one. It may change while connecting.
    var socket: Int32 { unsafe PQsocket(raw) }

    var transactionStatus: TransactionStatus {
        switch unsafe PQtransactionStatus(raw) {
        case PQTRANS_IDLE: .idle
        case PQTRANS_ACTIVE: .active
        case PQTRANS_INTRANS: .open
        case PQTRANS_INERROR: .failed
        default: .unknown
        }
    }

    /// The number of the server's process for this connection.
    var processID: Int32 { unsafe PQbackendPID(raw) }

    /// As in 150020 for 15.20; 0 without a connection.
    var serverVersion: Int { unsafe Int(PQserverVersion(raw)) }

    /// libpq's words on the last failure, in one line. Can quote what the server said.
    var errorMessage: String {
        unsafe String(cString: PQerrorMessage(raw)).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    func makeCancel() -> CancelHandle? {
        unsafe PQgetCancel(raw).map { unsafe CancelHandle(owning: $0) }
    }

    func setNonBlocking() -> Bool { unsafe PQsetnonblocking(raw, 1) == 0 }
    func enterPipeline() -> Bool { unsafe PQenterPipelineMode(raw) == 1 }
    func exitPipeline() -> Bool { unsafe PQexitPipelineMode(raw) == 1 }

    // MARK: Sending; libpq queues what the socket does not take

    /// Text, outside of pipelines only; may hold several commands.
    func sendScript(_ sql: String) -> Bool { unsafe PQsendQuery(raw, sql) == 1 }

    func sendPrepare(name: String, sql: String, types: [UInt32]) -> Bool {
        unsafe PQsendPrepare(raw, name, sql, Int32(types.count), types) == 1
    }

    func sendPrepared(name: String, _ parameters: Parameters) -> Bool {
        unsafe parameters.withRaw { _, values, lengths, formats in
            unsafe PQsendQueryPrepared(raw, name, Int32(parameters.count), values, lengths, formats, 1) == 1
        }
    }

    func sendUnprepared(_ statement: Statement) -> Bool {
        let count = Int32(statement.parameters.count)
        return unsafe statement.parameters.withRaw { types, values, lengths, formats in
            unsafe PQsendQueryParams(raw, statement.sql, count, types, values, lengths, formats, 1) == 1
        }
    }

    /// Ends an implicit transaction and flushes the server's answers. Nothing is written to the socket yet in some
    /// cases.
    func sendSync() -> Bool { unsafe PQpipelineSync(raw) == 1 }

    /// How far queued bytes have got.
    enum Flushing { case done, pending, failed }

    func flush() -> Flushing {
        switch unsafe PQflush(raw) {
        case 0: .done
        case 1: .pending
        default: .failed
        }
    }

    // MARK: Receiving

    /// Reads what the socket has. False when the connection broke.
    func consumeInput() -> Bool { unsafe PQconsumeInput(raw) == 1 }

    /// Whether ``nextResult()`` would block.
    var isBusy: Bool { unsafe PQisBusy(raw) == 1 }

    func nextResult() -> ResultHandle? {
        unsafe PQgetResult(raw).map { unsafe ResultHandle(owning: $0) }
    }

    func nextNotification() -> NotificationMessage? {
        guard let message = unsafe PQnotifies(raw) else { return nil }
        defer { unsafe PQfreemem(message) }
        return unsafe NotificationMessage(
            channel: String(cString: message.pointee.relname),
            payload: String(cString: message.pointee.extra),
            processID: message.pointee.be_pid
        )
    }

    // MARK: COPY

    /// What became of bytes given to a COPY.
    enum Copying { case queued, full, failed }

    func putCopyData(_ bytes: [UInt8]) -> Copying {
        let result = unsafe bytes.withUnsafeBytes { buffer in
            unsafe PQputCopyData(raw, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count))
        }
        return Self.copying(result)
    }

    /// All rows have been given.
    func putCopyEnd() -> Copying {
        Self.copying(unsafe PQputCopyEnd(raw, nil))
    }

    private static func copying(_ result: Int32) -> Copying {
        switch result {
        case 1: .queued
        case 0: .full
        default: .failed
        }
    }
}

/// Whether a transaction is open on a connection.
package enum TransactionStatus: Sendable, Hashable {
    /// None is open.
    case idle
    /// A command is under way.
    case active
    /// One is open and well.
    case open
    /// One is open and has failed: the server refuses everything but its end.
    case failed
    /// The connection is gone.
    case unknown
}

/// What arrived for a LISTEN.
package struct NotificationMessage: Sendable, Hashable {
    package let channel: String
    package let payload: String
    /// The server process of the connection that sent it.
    package let processID: Int32
}

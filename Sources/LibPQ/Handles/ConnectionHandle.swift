import CLibPQ
import Glibc

/// A libpq connection. Each method is one libpq call, without decisions or waiting. ``Session`` adds those.
///
/// It is closed and freed with its last reference. Methods that return Bool report whether libpq accepted the call;
/// ``errorMessage`` has the reason.
@safe
final class ConnectionHandle: @unchecked Sendable {
    // Unchecked, but correct: libpq allows a connection to move between threads if no two use it at once. Its only
    // owner, a Session, acquires a claim before each operation.
    private let raw: OpaquePointer

    /// `PQconnectStartParams`. It resolves the first host name, which may block.
    ///
    /// - Throws: ``LibPQError/Code/unreachable`` if memory runs out. Any other failure shows in ``isBad``.
    init(parameters: [ConnectionSettings.Parameter]) throws(LibPQError) {
        // Arrays of C strings that end with nil, as libpq requires for names and values.
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
        // So that the message of a refused connection has the SQLSTATE: libpq tells it in no other way.
        _ = unsafe PQsetErrorVerbosity(raw, PQERRORS_VERBOSE)
    }

    /// Once it is connected: messages as usual.
    func saysLess() { _ = unsafe PQsetErrorVerbosity(raw, PQERRORS_DEFAULT) }

    deinit { unsafe PQfinish(raw) }

    // MARK: State

    /// The state of a connection attempt, and what it waits for.
    enum Polling { case reading, writing, ready, failed }

    /// `PQconnectPoll`. It may resolve the next host name, which may block.
    func poll() -> Polling {
        switch unsafe PQconnectPoll(raw) {
        case PGRES_POLLING_READING: .reading
        case PGRES_POLLING_WRITING: .writing
        case PGRES_POLLING_OK: .ready
        default: .failed
        }
    }

    var isBad: Bool { unsafe PQstatus(raw) == CONNECTION_BAD }

    /// The socket; -1 without one. It may change during the connection attempt.
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

    /// The id of the server process for this connection.
    var processID: Int32 { unsafe PQbackendPID(raw) }

    /// For example 150020 for version 15.20; 0 without a connection.
    var serverVersion: Int { unsafe Int(PQserverVersion(raw)) }

    /// libpq's message about the last failure, in one line. It can quote the server.
    var errorMessage: String {
        unsafe String(cString: PQerrorMessage(raw)).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    func makeCancel() -> CancelHandle? {
        unsafe PQgetCancel(raw).map { unsafe CancelHandle(owning: $0) }
    }

    func setNonBlocking() -> Bool { unsafe PQsetnonblocking(raw, 1) == 0 }
    func enterPipeline() -> Bool { unsafe PQenterPipelineMode(raw) == 1 }
    func exitPipeline() -> Bool { unsafe PQexitPipelineMode(raw) == 1 }

    // MARK: Sending (libpq queues unsent bytes)

    /// Sends SQL text, only outside of pipelines. It may contain several commands.
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

    /// Ends an implicit transaction and makes the server send its answers. The bytes may stay queued for now.
    func sendSync() -> Bool { unsafe PQpipelineSync(raw) == 1 }

    /// The progress of queued bytes.
    enum Flushing { case done, pending, failed }

    func flush() -> Flushing {
        switch unsafe PQflush(raw) {
        case 0: .done
        case 1: .pending
        default: .failed
        }
    }

    // MARK: Receiving

    /// Reads the available bytes from the socket. False if the connection broke.
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

    /// The result of passing bytes to a COPY.
    enum Copying { case queued, full, failed }

    func putCopyData(_ bytes: [UInt8]) -> Copying {
        let result = unsafe bytes.withUnsafeBytes { buffer in
            unsafe PQputCopyData(raw, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count))
        }
        return Self.copying(result)
    }

    /// Reports the end of the rows.
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
    /// No transaction is open.
    case idle
    /// A command is running.
    case active
    /// A transaction is open and valid.
    case open
    /// A transaction is open and has failed: the server refuses everything except its end.
    case failed
    /// The connection is lost.
    case unknown
}

/// A notification that arrived for a LISTEN.
package struct NotificationMessage: Sendable, Hashable {
    package let channel: String
    package let payload: String
    /// The server process of the sender's connection.
    package let processID: Int32
}

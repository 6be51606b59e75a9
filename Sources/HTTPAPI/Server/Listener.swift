import Glibc
import NIOCore
import ServiceLifecycle

/// One listener of the server; its failure says which address it could not have.
struct Listener: Service {
    /// As the configuration has it: the port may be 0.
    let address: ListeningAddress
    let server: any Service

    func run() async throws {
        do {
            try await server.run()
        } catch let error as IOError {
            // No other thread's call writes over these words: glibc keeps them per thread since 2.32.
            throw ListeningError(address: address, words: String(cString: strerror(error.errnoCode)))
        } catch let error as SocketAddressError.UnknownHost {
            throw ListeningError(address: address, words: error.errorDescription)
        }
    }
}

/// An address that the server cannot listen on.
struct ListeningError: Error, CustomStringConvertible {
    let address: ListeningAddress
    /// The system's.
    let words: String

    var description: String {
        let purpose =
            switch address.purpose {
            case .api: "the API"
            case .metrics: "metrics"
            }
        return "cannot listen for \(purpose) on \(address): \(words)"
    }
}

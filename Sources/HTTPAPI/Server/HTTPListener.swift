import Glibc
import NIOCore
import ServiceLifecycle

/// One listener of the server. Its error names the address that it could not bind.
struct HTTPListener: Service {
    /// The configured address. Its port may be 0.
    let address: ListeningAddress
    let server: any Service

    func run() async throws {
        do {
            try await server.run()
        } catch let error as IOError {
            // No other thread overwrites this text: since 2.32, glibc keeps it per thread.
            throw ListeningError(address: address, words: String(cString: strerror(error.errnoCode)))
        } catch let error as SocketAddressError.UnknownHost {
            throw ListeningError(address: address, words: error.errorDescription)
        }
    }
}

/// The server cannot listen on an address.
struct ListeningError: Error, CustomStringConvertible {
    let address: ListeningAddress
    /// The system's error text.
    let words: String

    var description: String {
        let (purpose, settings) =
            switch address.purpose {
            case .api: ("the API", "TALLY_HTTP_HOST, TALLY_HTTP_PORT")
            case .phones: ("phones", "TALLY_PHONES_HOST, TALLY_PHONES_PORT")
            case .metrics: ("metrics", "TALLY_METRICS_HOST, TALLY_METRICS_PORT")
            }
        return "cannot listen for \(purpose) on \(address): \(words) (\(settings))"
    }
}

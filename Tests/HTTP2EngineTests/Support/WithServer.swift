import HTTP2Engine
import Reactor
import TLSEngine

/// Starts a server, runs a test against it, and takes everything down.
func withServer(
    configuration: HTTP2ServerConfiguration = HTTP2ServerConfiguration(),
    answer: @escaping TestServer.Answer = { _, responder in try responder.respond(status: 200) },
    _ body: (TestServer, TestCertificate) async throws -> Void
) async throws {
    let certificate = try TestCertificate.shared.get()
    let loop = try EventLoop(name: "test-server")
    do {
        let server = try await TestServer(
            loop: loop,
            context: certificate.serverContext(),
            configuration: configuration,
            answer: answer
        )
        try await body(server, certificate)
        try await server.close()
    } catch {
        await loop.shutDown()
        throw error
    }
    await loop.shutDown()
}

/// The same with a client, connected and open, on a loop of its own.
func withClientAndServer(
    server serverConfiguration: HTTP2ServerConfiguration = HTTP2ServerConfiguration(),
    client clientConfiguration: HTTP2ClientConfiguration = HTTP2ClientConfiguration(),
    answer: @escaping TestServer.Answer = { _, responder in try responder.respond(status: 200) },
    _ body: (TestClient, TestServer) async throws -> Void
) async throws {
    try await withServer(configuration: serverConfiguration, answer: answer) { server, certificate in
        let loop = try EventLoop(name: "test-client")
        do {
            let client = try await TestClient(
                loop: loop,
                context: certificate.clientContext(),
                port: server.port,
                configuration: clientConfiguration
            )
            _ = try await client.waitUntilOpen()
            try await body(client, server)
            try await client.onLoop { $0.drop(nil) }
        } catch {
            await loop.shutDown()
            throw error
        }
        await loop.shutDown()
    }
}

// Node's HTTP/2 server: answers every request with 200. Run by ManyRequestsTests.
//
//   node node_apns_server.mjs PORT KEY_FILE CERTIFICATE_FILE MAX_STREAMS
import { readFileSync } from 'node:fs'
import http2 from 'node:http2'

const [port, key, certificate, streams] = process.argv.slice(2)
const server = http2.createSecureServer({
    key: readFileSync(key),
    cert: readFileSync(certificate),
    settings: { maxConcurrentStreams: Number(streams) },
})
server.on('stream', (stream) => {
    stream.resume()
    stream.on('end', () => {
        stream.respond({ ':status': 200 })
        stream.end()
    })
})
server.listen(Number(port), '127.0.0.1')

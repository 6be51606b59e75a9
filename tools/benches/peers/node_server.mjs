// The least HTTP server that Node makes: prints its port and answers everything with 200.
import http from 'node:http'

const server = http.createServer((request, response) => response.end('ok'))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))

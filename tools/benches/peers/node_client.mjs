// Node's own HTTP/2 client as a load: as many requests at once as the server allows streams, on one connection.
import http2 from 'node:http2'
import { readFileSync } from 'node:fs'

const settings = JSON.parse(readFileSync(0, 'utf8'))
const body = Buffer.from(settings.body)
const session = http2.connect(`https://localhost:${settings.port}`, { ca: readFileSync(settings.ca) })
const fields = { ':method': 'POST', ...Object.fromEntries(settings.fields) }
let left = settings.count
let accepted = 0
let open = 0

function send() {
  if (left === 0) {
    if (open === 0) finish()
    return
  }
  const token = (left--).toString(16).padStart(settings.tokenDigits, '0')
  open++
  const request = session.request({ ...fields, ':path': settings.pathPrefix + token })
  request.on('response', (answer) => { accepted += answer[':status'] === 200 ? 1 : 0 })
  request.on('error', fail)
  request.on('close', () => { open--; send() })
  request.resume()
  request.end(body)
}

function finish() {
  console.log(JSON.stringify({ accepted }))
  session.close()
}

function fail(error) {
  console.error(`node: ${error}`)
  process.exit(1)
}

session.on('error', fail)
session.once('remoteSettings', () => {
  for (let stream = 0; stream < settings.streams; stream++) send()
})

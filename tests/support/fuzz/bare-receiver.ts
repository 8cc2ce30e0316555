/** Bun's server and nothing else: takes in whatever body is sent, chunk by chunk, and holds it to its end. A process of its own. */
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const chunks: Uint8Array[] = []
    if (request.body) for await (const chunk of request.body) chunks.push(chunk)
    return new Response(`${chunks.length}`)
  },
})
process.stdout.write(`${server.url}\n`)

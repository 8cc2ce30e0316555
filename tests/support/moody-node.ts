/** How the node between the gateway and its chain behaves. */
export type NodeMood = 'ok' | 'dead' | 'silent' | 'dead for sendings' | 'loses replies to sendings'

/** A node in front of a chain, that fails on command. */
export function openMoodyNode(chainUrl: string) {
  let mood: NodeMood = 'ok'
  let frozen: { readonly method: string; readonly after: boolean; readonly reached: () => void } | null = null
  const node = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = await request.text()
      const isSending = body.includes('eth_sendRaw')
      if (mood === 'silent') return new Promise<Response>(() => undefined)
      if (mood === 'dead' || (mood === 'dead for sendings' && isSending)) return new Response('dead', { status: 502 })
      const headers = { 'content-type': 'application/json' }
      const freeze = frozen && body.includes(frozen.method) ? frozen : null
      if (freeze && !freeze.after) return stuck(freeze)
      const answer = await (await fetch(chainUrl, { method: 'POST', headers, body })).text()
      if (freeze) return stuck(freeze)
      // What a caller sees of a reply that was lost on its way.
      if (mood === 'loses replies to sendings' && isSending) return new Response('lost', { status: 504 })
      return new Response(answer, { headers })
    },
  })
  function stuck({ reached }: { reached: () => void }): Promise<Response> {
    frozen = null
    reached()
    return new Promise(() => undefined)
  }
  return {
    url: `http://127.0.0.1:${node.port}`,
    setMood(next: NodeMood) {
      mood = next
    },
    /**
     * Lets the next question of this name get no answer: before the chain saw it, or after. Resolves when it has come; then the
     * node is well again.
     */
    freezeAt(method: string, after: boolean): Promise<void> {
      return new Promise((resolve) => {
        frozen = { method, after, reached: resolve }
      })
    },
    close: () => node.stop(true),
  }
}

/** How the node between the gateway and its chain behaves. */
export type NodeFault =
  | 'ok'
  | 'dead'
  | 'silent'
  | 'dead for sendings'
  | 'holds one back'
  | 'loses replies to sendings'
  | 'of another chain'
  | 'halted'

/** A node in front of a chain, that fails on command. */
export function openFaultyNode(chainUrl: string) {
  let fault: NodeFault = 'ok'
  let latencyMs = 0
  /** The transaction that it holds back: it says that it has it, and no block gets it. */
  let held: string | null = null
  const instead = new Map<string, 'nothing' | 'an error'>()
  let frozen: { readonly method: string; readonly after: boolean; readonly reached: () => void } | null = null
  const node = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = await request.text()
      const isSending = body.includes('eth_sendRaw')
      if (latencyMs > 0) await Bun.sleep(latencyMs)
      if (fault === 'silent') return new Promise<Response>(() => undefined)
      if (fault === 'dead' || (fault === 'dead for sendings' && isSending)) {
        // Questions that were asked together do not fail together.
        if (body.includes('eth_chainId')) await Bun.sleep(LATER_MS)
        return new Response('dead', { status: 502 })
      }
      const headers = { 'content-type': 'application/json' }
      const { id, method = '' } = Object(JSON.parse(body)) as Partial<Said>
      if (isSending && fault === 'holds one back') {
        const [raw = ''] = Object(JSON.parse(body)).params
        if (raw === held) return Response.json({ jsonrpc: '2.0', id, error: KNOWN })
        if (held === null) {
          held = raw
          return Response.json({ jsonrpc: '2.0', id, result: `0x${'0'.repeat(64)}` })
        }
      }
      const said = instead.get(method)
      if (said) return Response.json({ jsonrpc: '2.0', id, ...(said === 'nothing' ? { result: null } : BUSY) })
      const freeze = frozen && body.includes(frozen.method) ? frozen : null
      if (freeze && !freeze.after) return stuck(freeze)
      const answer = await (await fetch(chainUrl, { method: 'POST', headers, body })).text()
      if (freeze) return stuck(freeze)
      // The caller's view of a reply that was lost on its way.
      if (fault === 'loses replies to sendings' && isSending) return new Response('lost', { status: 504 })
      return new Response(fault === 'of another chain' || fault === 'halted' ? twisted(fault, body, answer) : answer, {
        headers,
      })
    },
  })
  function stuck({ reached }: { reached: () => void }): Promise<Response> {
    frozen = null
    reached()
    return new Promise(() => undefined)
  }
  return {
    url: `http://127.0.0.1:${node.port}`,
    setFault(next: NodeFault) {
      fault = next
      held = null
    },
    /** Says this instead of the answer to the questions of one name, which do not come with others; null: it answers again. */
    sayInstead(method: string, what: 'nothing' | 'an error' | null) {
      if (what) instead.set(method, what)
      else instead.delete(method)
    },
    /** How long each request takes beyond the time of the chain. */
    setLatency(ms: number) {
      latencyMs = ms
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

const LATER_MS = 20
const KNOWN = { code: -32000, message: 'already known' }
const BUSY = { error: { code: -32000, message: 'transaction indexing is in progress' } }

interface Said {
  readonly id: number
  readonly method?: string
  readonly result?: unknown
}

/** The answers of a node of another chain, or without new blocks for an hour. */
function twisted(fault: 'of another chain' | 'halted', body: string, answer: string): string {
  const [asked, said] = [JSON.parse(body) as Said | Said[], JSON.parse(answer) as Said | Said[]]
  const methods = new Map([asked].flat().map(({ id, method }) => [id, method]))
  const twist = (one: Said): Said => {
    const method = methods.get(one.id)
    if (fault === 'of another chain' && method === 'eth_chainId') return { ...one, result: '0x2105' }
    if (fault !== 'halted' || method !== 'eth_getBlockByNumber') return one
    const timestamp = `0x${(Math.floor(Date.now() / 1000) - 3600).toString(16)}`
    return { ...one, result: { ...Object(one.result), timestamp } }
  }
  return JSON.stringify(Array.isArray(said) ? said.map(twist) : twist(said))
}

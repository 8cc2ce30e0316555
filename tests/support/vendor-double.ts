/** One call as a vendor's server got it. */
export interface Received {
  readonly path: string
  readonly headers: Headers
  /** Empty for a form, as is its text. */
  readonly body: Record<string, unknown>
  readonly text: string
  /** As Bun's reader of forms finds it. */
  readonly form: FormData | null
  /** Aborts when the gateway hangs up. */
  readonly signal: AbortSignal
}

type Answering = (received: Received) => Response | Promise<Response>

/**
 * A server that speaks a vendor's wire as the test tells it to, over a real socket. It records what it got.
 */
export function openVendor(answer: Answering) {
  const received: Received[] = []
  const double = { answer, received }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const isForm = request.headers.get('content-type')?.startsWith('multipart/') === true
      const form = isForm ? await request.formData() : null
      const text = form ? '' : await request.text()
      const url = new URL(request.url)
      const call: Received = {
        path: url.pathname + url.search,
        headers: request.headers,
        text,
        form,
        body: text === '' ? {} : JSON.parse(text),
        signal: request.signal,
      }
      received.push(call)
      return double.answer(call)
    },
  })
  return Object.assign(double, {
    port: server.port ?? 0,
    origin: `http://127.0.0.1:${server.port}`,
    close: () => server.stop(true),
  })
}

export type VendorDouble = ReturnType<typeof openVendor>

const encoder = new TextEncoder()
const EVENTS = { 'content-type': 'text/event-stream' }

/** A stream of these events, each a chunk of its own; `after` runs at the end: it may break the stream or never come back. */
export function eventStream(
  events: readonly string[],
  after: (controller: ReadableStreamDefaultController<Uint8Array>) => void | Promise<void> = (controller) =>
    controller.close(),
): Response {
  let next = 0
  return new Response(
    new ReadableStream<Uint8Array>({
      pull(controller) {
        const event = events[next++]
        if (event === undefined) return after(controller)
        controller.enqueue(encoder.encode(event))
      },
    }),
    { headers: EVENTS },
  )
}

export interface Counts {
  readonly input: number
  readonly output: number
  readonly cached?: number
}

/** What OpenAI answers. `usage` null: it tells none. */
export const openAi = {
  plain(content: string, usage: Counts | null, more: object = {}) {
    return Response.json({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'real',
      choices: [{ index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop', ...more }],
      ...(usage && { usage: openAi.usage(usage) }),
    })
  },
  usage: ({ input, output, cached = 0 }: Counts) => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
  }),
  chunk(delta: object, finish: string | null = null) {
    const json = {
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'real',
      choices: [{ index: 0, delta, finish_reason: finish }],
      usage: null,
    }
    return `data: ${JSON.stringify(json)}\n\n`
  },
  total: (usage: Counts) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'real', choices: [], usage: openAi.usage(usage) })}\n\n`,
  done: 'data: [DONE]\n\n',
  /** A whole stream of these words. */
  words(words: readonly string[], usage: Counts | null): string[] {
    return [
      openAi.chunk({ role: 'assistant', content: '' }),
      ...words.map((content) => openAi.chunk({ content })),
      openAi.chunk({}, 'stop'),
      ...(usage ? [openAi.total(usage)] : []),
      openAi.done,
    ]
  },
  error: (status: number, error: object, headers: Record<string, string> = {}) =>
    Response.json({ error: { message: 'no', type: 'x', param: null, code: null, ...error } }, { status, headers }),
}

/** What Anthropic answers. */
export const anthropic = {
  plain(text: string, { input, output, cached = 0 }: Counts, content: readonly object[] = [{ type: 'text', text }]) {
    return Response.json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'real',
      content,
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: input - cached,
        output_tokens: output,
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: 0,
      },
    })
  },
  event: (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`,
  start: ({ input, cached = 0 }: Counts) =>
    anthropic.event('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'real',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: input - cached,
          output_tokens: 1,
          cache_read_input_tokens: cached,
          cache_creation_input_tokens: 0,
        },
      },
    }),
  words: (words: readonly string[], usage: Counts): string[] => [
    anthropic.start(usage),
    anthropic.event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...words.map((text) => anthropic.event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
    anthropic.event('content_block_stop', { index: 0 }),
    anthropic.event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: usage.output },
    }),
    anthropic.event('message_stop', {}),
  ],
  error: (status: number, type: string, headers: Record<string, string> = {}) =>
    Response.json({ type: 'error', error: { type, message: 'no' }, request_id: 'req_vendor' }, { status, headers }),
}

/** What Gemini answers. */
export const gemini = {
  body: (
    text: string,
    usage: object | null,
    finish: string | null = 'STOP',
    parts: readonly object[] = [{ text }],
  ) => ({
    candidates: [{ content: { role: 'model', parts }, ...(finish && { finishReason: finish }), index: 0 }],
    ...(usage && { usageMetadata: usage }),
    modelVersion: 'real',
    responseId: 'r1',
  }),
  events: (words: readonly string[], usage: object): string[] =>
    words.map((word, i) => {
      const isLast = i === words.length - 1
      return `data: ${JSON.stringify(gemini.body(word, isLast ? usage : null, isLast ? 'STOP' : null))}\r\n\r\n`
    }),
  error: (code: number, status: string, details: readonly object[] = []) =>
    Response.json({ error: { code, message: 'no', status, details } }, { status: code }),
}

/** A server that sends the head of a stream and these events, and drops the connection in the middle of the body when it is told. */
export function openBreaker(events: () => readonly string[]) {
  const open = new Set<{ end(): unknown }>()
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        open.add(socket)
        const chunks = events().map((event) => `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`)
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${chunks.join('')}`,
        )
        socket.flush()
      },
      close: (socket) => void open.delete(socket),
    },
  })
  return {
    origin: `http://127.0.0.1:${server.port}`,
    drop() {
      for (const socket of open) socket.end()
    },
    close: () => server.stop(true),
  }
}

/** One server-sent event. */
export interface SentEvent {
  readonly event: string
  readonly data: Record<string, unknown>
}

/** Reads the events of an answer, one after the other. */
export function eventSource(answer: Response) {
  const reader = answer.body?.getReader()
  if (!reader) throw new Error('the answer has no body')
  const decoder = new TextDecoder()
  let text = ''
  let lastId: string | undefined
  /** The next event, or null at the end of the stream. */
  const next = async (): Promise<SentEvent | null> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const block = text.slice(0, end)
        text = text.slice(end + 2)
        lastId = /^id: (.*)$/m.exec(block)?.[1] ?? lastId
        const event = /^event: (.*)$/m.exec(block)?.[1]
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (event) return { event, data: JSON.parse(data ?? '{}') as SentEvent['data'] }
        continue
      }
      const read = await reader.read()
      if (read.done) return null
      text += decoder.decode(read.value, { stream: true })
    }
  }
  return {
    next,
    /** The id of the last event, as a browser remembers it. */
    lastId: () => lastId,
    /** The next event of one of these kinds. */
    async nextOf(...kinds: readonly string[]): Promise<SentEvent> {
      for (;;) {
        const event = await next()
        if (!event) throw new Error(`the stream ended before ${kinds.join(', ')}`)
        if (kinds.includes(event.event)) return event
      }
    },
    /** The rest of the stream, up to its end. */
    async rest(): Promise<SentEvent[]> {
      const events: SentEvent[] = []
      for (let event = await next(); event; event = await next()) events.push(event)
      return events
    },
    close: () => reader.cancel(),
  }
}

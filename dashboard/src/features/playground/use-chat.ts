import { useEffect, useRef, useState } from 'react'
import { type ChatCompletion, findRecordedCall, type RecordedCall, sendChat } from '../../api/playground/chat.ts'
import type { ChatMessage, ChatRequest, EndpointType } from '../../api/playground/chat-wires.ts'
import type { Payer } from '../../api/playground/try-call.ts'

/** How the last call ended; `recorded` is undefined while the gateway is still recording it, null when no record was found. */
export interface ChatOutcome {
  readonly completion: ChatCompletion
  readonly recorded: RecordedCall | null | undefined
}

/**
 * The state of a conversation: its messages, the response being written, and the cost of the last one. Leaving the page, starting
 * over and `stop` end the call in progress.
 */
export function useChat() {
  const [messages, setTurns] = useState<readonly ChatMessage[]>([])
  /** The response so far; null if none is being written. */
  const [writing, setWriting] = useState<string | null>(null)
  const [outcome, setOutcome] = useState<ChatOutcome | null>(null)
  const abortController = useRef<AbortController | null>(null)
  useEffect(() => () => abortController.current?.abort(), [])

  /** Resolves to whether there was a response. If not, the message should be offered again. */
  const send = async (type: EndpointType, request: ChatRequest, payer: Payer): Promise<boolean> => {
    const abort = new AbortController()
    abortController.current = abort
    setTurns(request.messages)
    setWriting('')
    setOutcome(null)
    const onText = (text: string) => {
      if (abortController.current === abort) setWriting(text)
    }
    const completion = await sendChat(type, request, payer, { signal: abort.signal, onText })
    // Another conversation was started meanwhile, so this result is dropped.
    if (abortController.current !== abort) return true
    abortController.current = null
    setWriting(null)
    const accepted = completion.text !== '' || (completion.failure === null && !completion.stopped)
    setTurns(
      accepted ? [...request.messages, { role: 'assistant', text: completion.text }] : request.messages.slice(0, -1),
    )
    // A refused call cost nothing, and with an invalid key it could not be looked up.
    const isRefused = completion.text === '' && (completion.failure?.status ?? 0) >= 400
    setOutcome({ completion, recorded: isRefused ? null : undefined })
    if (isRefused) return accepted
    const recorded = await findRecordedCall(payer, completion.id)
    setOutcome((now) => (now?.completion === completion ? { completion, recorded } : now))
    return accepted
  }

  const stop = () => abortController.current?.abort()
  const clear = () => {
    stop()
    abortController.current = null
    setTurns([])
    setWriting(null)
    setOutcome(null)
  }
  return { messages, writing, outcome, send, stop, clear }
}

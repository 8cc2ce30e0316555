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
 * A conversation with a model: what was said, what is being said, and what the last answer cost. Leaving the page, starting
 * over and `stop` end the call that is under way.
 */
export function useChat() {
  const [messages, setTurns] = useState<readonly ChatMessage[]>([])
  /** The answer so far; null while none is under way. */
  const [writing, setWriting] = useState<string | null>(null)
  const [outcome, setOutcome] = useState<ChatOutcome | null>(null)
  const abortController = useRef<AbortController | null>(null)
  useEffect(() => () => abortController.current?.abort(), [])

  /** Gives back whether the message was taken: one that brought nothing is to be sent again. */
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
    // Another conversation was begun meanwhile: this one's end is of no interest.
    if (abortController.current !== abort) return true
    abortController.current = null
    setWriting(null)
    const accepted = completion.text !== '' || (completion.failure === null && !completion.stopped)
    setTurns(
      accepted ? [...request.messages, { role: 'assistant', text: completion.text }] : request.messages.slice(0, -1),
    )
    // What was refused cost nothing, and a wrong key could not even ask.
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

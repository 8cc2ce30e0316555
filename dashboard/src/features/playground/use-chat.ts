import { useEffect, useRef, useState } from 'react'
import { askModel, type ChatEnd, type ExplainedCall, explainedCall } from '../../api/chat.ts'
import type { ChatAsk, ChatTurn, EndpointType } from '../../api/chat-wires.ts'
import type { TryCharge } from '../../api/try-call.ts'

/** How the last call ended; `explained` is undefined while its charge is being asked for, null where there is none to be found. */
export interface ChatOutcome {
  readonly end: ChatEnd
  readonly explained: ExplainedCall | null | undefined
}

/**
 * A conversation with a model: what was said, what is being said, and what the last answer cost. Leaving the page, starting
 * over and `stop` end the call that is under way.
 */
export function useChat() {
  const [turns, setTurns] = useState<readonly ChatTurn[]>([])
  /** The answer so far; null while none is under way. */
  const [writing, setWriting] = useState<string | null>(null)
  const [outcome, setOutcome] = useState<ChatOutcome | null>(null)
  const underWay = useRef<AbortController | null>(null)
  useEffect(() => () => underWay.current?.abort(), [])

  /** Gives back whether the message was taken: one that brought nothing is to be sent again. */
  const ask = async (type: EndpointType, question: ChatAsk, charge: TryCharge): Promise<boolean> => {
    const abort = new AbortController()
    underWay.current = abort
    setTurns(question.turns)
    setWriting('')
    setOutcome(null)
    const onText = (text: string) => {
      if (underWay.current === abort) setWriting(text)
    }
    const end = await askModel(type, question, charge, { signal: abort.signal, onText })
    // Another conversation was begun meanwhile: this one's end is of no interest.
    if (underWay.current !== abort) return true
    underWay.current = null
    setWriting(null)
    const taken = end.text !== '' || (end.failure === null && !end.stopped)
    setTurns(taken ? [...question.turns, { role: 'assistant', text: end.text }] : question.turns.slice(0, -1))
    // What was refused cost nothing, and a wrong key could not even ask.
    const isRefused = end.text === '' && (end.failure?.status ?? 0) >= 400
    setOutcome({ end, explained: isRefused ? null : undefined })
    if (isRefused) return taken
    const explained = await explainedCall(charge, end.id)
    setOutcome((now) => (now?.end === end ? { end, explained } : now))
    return taken
  }

  const stop = () => underWay.current?.abort()
  const clear = () => {
    stop()
    underWay.current = null
    setTurns([])
    setWriting(null)
    setOutcome(null)
  }
  return { turns, writing, outcome, ask, stop, clear }
}

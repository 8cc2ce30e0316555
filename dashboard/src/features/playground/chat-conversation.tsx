import { useEffect, useRef } from 'react'
import type { ChatMessage } from '../../api/playground/chat-wires.ts'
import { CHAT_TEXT as TEXT } from '../../messages/chat.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/layout/card.tsx'

/** The messages, including the one being written, as plain text: markup from a model is never rendered. */
export function ChatConversation({ messages, writing, model, onClear }: ConversationProps) {
  const log = useRef<HTMLDivElement>(null)
  const shown = writing === null ? messages : [...messages, { role: 'assistant' as const, text: writing }]
  const length = shown.reduce((sum, { text }) => sum + text.length, 0)
  // Scrolls to the end whenever text is added.
  useEffect(() => {
    if (log.current) log.current.scrollTop = log.current.scrollHeight
  }, [length])
  return (
    <Card title={TEXT.conversation} aside={messages.length > 0 && <Button onClick={onClear}>{TEXT.clear}</Button>}>
      {shown.length === 0 ? (
        <p className="text-muted">{TEXT.empty}</p>
      ) : (
        <div
          ref={log}
          role="log"
          aria-label={TEXT.conversation}
          // Announced once it is complete, not word by word.
          aria-busy={writing !== null}
          tabIndex={0}
          className="grid max-h-120 content-start gap-4 overflow-y-auto"
        >
          {shown.map(({ role, text }, at) => (
            // Messages are only ever appended, so the index is a stable key.
            <article key={`${at} ${role}`} className="grid gap-1">
              <h3 className="small text-muted">{role === 'user' ? TEXT.you : model}</h3>
              <p className="wrap-anywhere whitespace-pre-wrap">
                {text}
                {writing !== null && at === shown.length - 1 && (
                  <span className="text-muted"> {writing === '' ? `${TEXT.writing} …` : '…'}</span>
                )}
              </p>
            </article>
          ))}
        </div>
      )}
    </Card>
  )
}

type ConversationProps = {
  messages: readonly ChatMessage[]
  /** The response so far; null if none is being written. */
  writing: string | null
  model: string
  onClear: () => void
}

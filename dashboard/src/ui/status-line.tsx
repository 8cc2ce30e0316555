export type Tone = 'neutral' | 'ok' | 'warn' | 'bad'

/** A state as a badge and a sentence; read out when it changes. Colour only repeats what the badge says. */
export function StatusLine({ tone, badge, text }: { tone: Tone; badge: string; text: string }) {
  return (
    <p className="status" role="status">
      <span className="badge" data-tone={tone}>
        {badge}
      </span>
      <span>{text}</span>
    </p>
  )
}

import { AUDIT_TEXT as TEXT } from '../messages/audit.ts'

/** The author of a change. Operators see the operator's email address, or else the id. */
export function Actor({ kind, id, email }: ActorProps) {
  const who = kind !== 'operator' || id === null ? null : id === 'console' ? TEXT.commandLine : (email ?? id)
  return (
    <span className="grid">
      <span>{TEXT.actors[kind]}</span>
      {who !== null && <span className="small text-muted wrap-anywhere">{who}</span>}
    </span>
  )
}

type ActorProps = {
  kind: keyof typeof TEXT.actors
  id: string | null
  /** Only in what operators see. */
  email?: string | null | undefined
}

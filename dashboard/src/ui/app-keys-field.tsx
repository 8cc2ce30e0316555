import { APP_TEXT as TEXT } from '../messages/apps.ts'
import { Choice, Choices } from './field.tsx'

/** The keys that apps created, each ticked to be revoked with its app. Renders nothing if there are none. */
export function AppKeysField({ apps, kept, onChange }: AppKeysFieldProps) {
  const keys = apps.flatMap((app) => app.keys)
  if (keys.length === 0) return null
  const others = (id: string) => kept.filter((one) => one !== id)
  return (
    <Choices legend={TEXT.revokeKeys} hint={TEXT.revokeKeysHint}>
      <div className="grid max-h-48 gap-1 overflow-y-auto">
        {keys.map(({ id, name }) => (
          <Choice
            key={id}
            type="checkbox"
            checked={!kept.includes(id)}
            onChange={(event) => onChange(event.currentTarget.checked ? others(id) : [...others(id), id])}
            label={<span className="wrap-anywhere">{name}</span>}
          />
        ))}
      </div>
    </Choices>
  )
}

type AppKeysFieldProps = {
  apps: readonly { readonly keys: readonly { readonly id: string; readonly name: string }[] }[]
  /** Ids of the keys that are kept. */
  kept: readonly string[]
  onChange: (kept: readonly string[]) => void
}

import type { ConnectedApp, KeptAccess } from '../../api/account/apps.ts'
import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { Choice, Choices } from '../../ui/field.tsx'

/** The keys that apps created, each ticked to be revoked with its app. Renders nothing if there are none. */
export function AppKeysField({ apps, kept, onChange }: AppKeysFieldProps) {
  const keys = apps.flatMap((app) => app.keys)
  if (keys.length === 0) return null
  const others = (id: string) => kept.keys.filter((one) => one !== id)
  return (
    <Choices legend={TEXT.revokeKeys} hint={TEXT.revokeKeysHint}>
      <div className="grid max-h-48 gap-1 overflow-y-auto">
        {keys.map(({ id, name }) => (
          <Choice
            key={id}
            type="checkbox"
            checked={!kept.keys.includes(id)}
            onChange={(event) =>
              onChange({ ...kept, keys: event.currentTarget.checked ? others(id) : [...others(id), id] })
            }
            label={<span className="wrap-anywhere">{name}</span>}
          />
        ))}
      </div>
    </Choices>
  )
}

type AppKeysFieldProps = {
  apps: readonly Pick<ConnectedApp, 'keys'>[]
  kept: KeptAccess
  onChange: (kept: KeptAccess) => void
}

import { useQuery } from '@tanstack/react-query'
import { appsQuery, type KeptAccess } from '../../api/account/apps.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { AppKeysField } from '../../ui/app-keys-field.tsx'
import { Choice } from '../../ui/field.tsx'

/** Whether to disconnect apps as well, and which keys of theirs to revoke. Renders nothing if no apps are connected. */
export function DisconnectAppsField({ kept, onChange }: DisconnectAppsFieldProps) {
  const apps = useQuery(appsQuery).data?.apps ?? []
  if (apps.length === 0) return null
  return (
    <div className="grid gap-1">
      <Choice
        type="checkbox"
        checked={!kept.apps}
        onChange={(event) => onChange({ ...kept, apps: !event.currentTarget.checked })}
        label={TEXT.disconnectApps(apps.length)}
      />
      <p className="small text-muted">{TEXT.disconnectAppsHint}</p>
      {!kept.apps && <AppKeysField apps={apps} kept={kept.keys} onChange={(keys) => onChange({ ...kept, keys })} />}
    </div>
  )
}

type DisconnectAppsFieldProps = { kept: KeptAccess; onChange: (kept: KeptAccess) => void }

import { useQuery } from '@tanstack/react-query'
import { appsQuery } from '../../api/account/apps.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { Choice } from '../../ui/field.tsx'

/** The number of connected apps. */
export function useAppCount(): number {
  return useQuery(appsQuery).data?.apps.length ?? 0
}

/** Whether to disconnect apps as well. Renders nothing if no apps are connected. */
export function DisconnectAppsField({ count, checked, onChange }: DisconnectAppsFieldProps) {
  if (count === 0) return null
  return (
    <div className="grid gap-1">
      <Choice
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
        label={TEXT.disconnectApps(count)}
      />
      <p className="small text-muted">{TEXT.disconnectAppsHint}</p>
    </div>
  )
}

type DisconnectAppsFieldProps = { count: number; checked: boolean; onChange: (checked: boolean) => void }

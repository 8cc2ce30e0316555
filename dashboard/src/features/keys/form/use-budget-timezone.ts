import { useQuery } from '@tanstack/react-query'
import { settingsQuery } from '../../../api/account/settings.ts'
import type { ApiKey } from '../../../api/keys.ts'
import { VIEWER_TIME_ZONE } from '../../../api/usage.ts'

/** The time zone of a key's budget: its own, else the one from Settings, else the browser's. */
export function useBudgetTimezone(apiKey: ApiKey | null): string {
  const chosen = useQuery(settingsQuery).data?.timezone
  return apiKey?.budget?.timezone ?? chosen ?? VIEWER_TIME_ZONE
}

import type { AlertConfig } from '../../config/alert-config.ts';
import { createAlertmanager } from './alertmanager.ts';
import type { AlertReceiver } from './receiver.ts';
import { createWebhook } from './webhook.ts';

/** The receivers that are configured. */
export const openReceivers = ({ alertmanagerUrl, webhook }: AlertConfig): AlertReceiver[] =>
  [...(alertmanagerUrl === null ? [] : [createAlertmanager(alertmanagerUrl)]), ...(webhook === null ? [] : [createWebhook(webhook)])];

{{- /* SPDX-License-Identifier: MIT */ -}}
{{- define "uncore.selector" -}}
app.kubernetes.io/name: uncore
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "uncore.metadata" -}}
name: {{ .Release.Name }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "uncore.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
{{- define "uncore.probe" -}}
httpGet:
  path: {{ .path }}
  port: metrics
  {{- if and .values.webConfig.secret .values.webConfig.tls }}
  scheme: HTTPS
  {{- end }}
{{- end }}

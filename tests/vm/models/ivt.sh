# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: MIT
# Xeon E5 v2: Cbo, PCU and UBOX by MSR.
arch=amd64
machine=(-M pc -m 1G -cpu "IvyBridge-v2,model=62,hypervisor=$hypervisor")
